import EventLog
import Glibc

/// The real disk, with the ordered faults in front of it: what the log and the positions of a tortured relay lie on.
struct InjectedDisk: Disk {
  let faults: FaultSwitch
  private let disk = RealDisk()

  func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    if mode == .create { try faults.pass(.write, layer: nil, .create, path) }
    return InjectedFile(try disk.open(path, mode), faults)
  }

  func rename(_ path: String, to newPath: String) throws(DiskError) { try disk.rename(path, to: newPath) }
  func unlink(_ path: String) throws(DiskError) { try disk.unlink(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try disk.syncDirectory(path) }
  func list(_ path: String) throws(DiskError) -> [String] { try disk.list(path) }
  func makeDirectory(_ path: String) throws(DiskError) { try disk.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(DiskError) { try disk.removeDirectory(path) }
  func freeSpace(_ path: String) throws(DiskError) -> UInt64 { faults.isFull ? 0 : try disk.freeSpace(path) }
}

/// One of its files. A segment's calls are the log's own, and take the counted faults; other files only find the disk full.
final class InjectedFile: DiskFile {
  private let file: any DiskFile
  private let faults: FaultSwitch
  private let layer: FaultOrders.Layer?

  init(_ file: any DiskFile, _ faults: FaultSwitch) {
    self.file = file
    self.faults = faults
    layer = file.path.contains("/log/segment-") ? .log : nil
  }

  var path: String { file.path }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
    try faults.pass(.read, layer: layer, .read, path)
    return try file.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
    if let code = try faults.pass(.write, layer: layer, .write, path) {
      try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
      throw DiskError(.write, path, code: code)
    }
    try file.write(bytes, at: offset)
  }

  func syncData() throws(DiskError) {
    try faults.pass(.sync, layer: layer, .sync, path)
    try file.syncData()
  }

  func truncate(to size: Int) throws(DiskError) { try file.truncate(to: size) }

  func allocate(_ size: Int) throws(DiskError) {
    try faults.pass(.write, layer: nil, .allocate, path)
    try file.allocate(size)
  }

  func size() throws(DiskError) -> Int { try file.size() }
}
