import Dialects
import EventLog
import Synchronization

/// What one request is worked on with: a reader and room for its events.
///
/// Unchecked because a desk is only ever used by the thread that took it.
final class Desk: @unchecked Sendable {
  let reader: any IncomingReader
  var drafts: [DraftEvent] = []
  /// Those of them that aren't duplicates.
  var fresh: [DraftEvent] = []

  init(_ dialect: any Dialect) { reader = dialect.incoming.makeReader() }
}

/// The desks that nobody sits at. As many are made as requests are read at once.
final class DeskStore: Sendable {
  private let free = Mutex<[UInt8: [Desk]]>([:])

  func take(_ dialect: any Dialect) -> Desk {
    free.withLock { $0[dialect.number]?.popLast() } ?? Desk(dialect)
  }

  func giveBack(_ desk: Desk, _ dialect: any Dialect) {
    free.withLock { $0[dialect.number, default: []].append(desk) }
  }
}
