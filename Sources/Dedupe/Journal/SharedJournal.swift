import Clocks
import EventLog
import Observability
import Synchronization

/// The journal, for the thread that follows the log and those that forget ids.
final class SharedJournal: Sendable {
  /// Ids to forget that wait for a disk that doesn't take them; past it the oldest are given up.
  static let owedMax = 100_000

  /// `@unchecked`: used under the lock alone.
  private struct Content: @unchecked Sendable {
    var journal: IDJournal
    /// What is to be written still, before anything else.
    var owed: [IDRecord] = []
  }

  private let content: Mutex<Content>

  init(directory: String, plan: JournalPlan, disk: any Disk, clock: WallClock, logger: Logger) {
    content = Mutex(
      Content(journal: IDJournal(directory: directory, plan: plan, disk: disk, clock: clock, logger: logger)))
  }

  /// Reads every file, the oldest first, and hands out what its records say.
  func load(_ take: (IDRecord) -> Void) throws(LogError) {
    try content.withLock { (content) throws(LogError) in try content.journal.load(take) }
  }

  /// Writes records and syncs them.
  func write(_ records: [IDRecord]) throws(DiskError) {
    try content.withLock { (content) throws(DiskError) in
      if !content.owed.isEmpty {
        try content.journal.append(content.owed)
        content.owed = []
      }
      try content.journal.append(records)
    }
  }

  /// As ``write(_:)``; records that can't be written now are written with the next ones.
  func writeSooner(_ records: [IDRecord]) throws(DiskError) {
    try content.withLock { (content) throws(DiskError) in
      content.owed += records
      if content.owed.count > Self.owedMax { content.owed.removeFirst(content.owed.count - Self.owedMax) }
      try content.journal.append(content.owed)
      content.owed = []
    }
  }

  /// Keeps files for another window, from the next look on.
  func change(window: Duration) { content.withLock { $0.journal.plan.window = window } }

  /// Removes files that nobody needs any more.
  func removeUnneeded() { content.withLock { $0.journal.removeUnneeded() } }
}
