/// A file or directory: what of it is safe, and what was done to it since.
struct FileNode {
  let identity: FileIdentity
  let isDirectory: Bool
  /// The contents that a sync has promised.
  var durable: [UInt8] = []
  /// What was done since, in order, each with its place in the whole history.
  var pending: [(serial: Int, change: FileChange)] = []

  /// Contents as the running program sees them.
  var current: [UInt8] {
    var content = durable
    for (_, change) in pending { change.apply(to: &content) }
    return content
  }

  /// A sync of all that was done up to a place in the history has returned.
  mutating func makeDurable(through serial: Int) {
    var count = 0
    while count < pending.count, pending[count].serial <= serial {
      pending[count].change.apply(to: &durable)
      count += 1
    }
    pending.removeFirst(count)
  }
}
