import PowerLoss

/// What happens when in a journal, as far as cuts are wanted there.
struct PowerLossMoments {
  /// From a segment's copy being begun until its new name was synced.
  private(set) var rewritings: [Range<Int>] = []
  /// Records about queues of events that are sent again, and notes of dead letters that were.
  private(set) var replays: [Int] = []
  /// Syncs of the log's own files that returned.
  private(set) var logSyncs: [Int] = []
  private(set) var syncs: [Int] = []
  private(set) var names: [Int] = []
  /// Records in all.
  let count: Int

  /// The copy that has got a segment's name, and the index of its directory's sync that will make it durable.
  private struct Open {
    var begun: Int
    var renamed: Int
  }

  private var created: [String: Int] = [:]
  private var segments: Set<String> = []
  private var log: UInt64?
  private var logFiles: Set<UInt64> = []
  private var replayFiles: Set<UInt64> = []
  private var began: [UInt64: Int] = [:]
  private var open: [Open] = []

  /// - Parameter before: files that were there before the journal.
  init(_ journal: Journal, after before: DiskImage? = nil) {
    count = journal.records.count
    for entry in before?.entries ?? [] { note(entry.path, entry.identity.inode) }
    for (at, record) in journal.records.enumerated() { take(record, at) }
  }

  private static func isReplays(_ path: String) -> Bool {
    path.hasPrefix("data/replays/") || path.contains(".ndjson.replayed")
  }

  private mutating func note(_ path: String, _ inode: UInt64) {
    // (Numbers of files that are gone are given again.)
    logFiles.remove(inode)
    replayFiles.remove(inode)
    if path == "data/log" { log = inode }
    if path.hasPrefix("data/log/") {
      logFiles.insert(inode)
      if path.hasPrefix("data/log/segment-") { segments.insert(path) }
    }
    if Self.isReplays(path) { replayFiles.insert(inode) }
  }

  private mutating func take(_ record: JournalRecord, _ at: Int) {
    switch record {
    case .created(let file, let path), .madeDirectory(let file, let path):
      note(path, file.inode)
      created[path] = at
      names.append(at)
      if Self.isReplays(path) { replays.append(at) }
    case .renamed(let path, let to):
      names.append(at)
      if Self.isReplays(to) { replays.append(at) }
      rename(path, to, at)
    case .unlinked(let path), .removedDirectory(let path):
      names.append(at)
      segments.remove(path)
      if Self.isReplays(path) { replays.append(at) }
    case .syncBegan(let inode, let ticket):
      began[ticket] = at
      if replayFiles.contains(inode) { replays.append(at) }
    case .syncReturned(let inode, let ticket):
      syncs.append(at)
      if logFiles.contains(inode) { logSyncs.append(at) }
      if replayFiles.contains(inode) { replays.append(at) }
      if inode == log, let began = began[ticket] { finish(at, began) }
    case .wrote(let inode, _, _), .zeroed(let inode, _, _), .truncated(let inode, _), .allocated(let inode, _):
      if replayFiles.contains(inode) { replays.append(at) }
    case .started: open = []
    case .unsupported: break
    }
  }

  private mutating func rename(_ path: String, _ to: String, _ at: Int) {
    if path.hasPrefix("data/log/filling-"), segments.contains(to) {
      open.append(Open(begun: created[path] ?? at, renamed: at))
    }
    segments.remove(path)
    if to.hasPrefix("data/log/segment-") { segments.insert(to) }
  }

  private mutating func finish(_ at: Int, _ began: Int) {
    for one in open where one.renamed < began { rewritings.append(one.begun..<at) }
    open.removeAll { $0.renamed < began }
  }
}
