extension ReplayQueue {
  /// Removes everything about the destination's replays. The queue is closed before.
  func removeFiles() throws(LogError) {
    try asLogError { () throws(DiskError) in
      for part in ["log", "positions", "jobs"] {
        let path = "\(directory)/\(part)"
        guard let names = try? disk.list(path) else { continue }
        for name in names { try disk.unlink("\(path)/\(name)") }
        try disk.removeDirectory(path)
      }
      for name in try disk.list(directory) { try disk.unlink("\(directory)/\(name)") }
      try disk.removeDirectory(directory)
    }
  }
}
