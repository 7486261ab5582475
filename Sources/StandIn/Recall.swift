import Clocks
import Dialects
import EventLog
import EventsAPI

/// Takes an account back to where its file ends.
final class Recall {
  private(set) var unreadable = 0
  private let now: Timestamp
  private var readers: [UInt8: any IncomingReader] = [:]

  init(clock: WallClock) { now = clock.now }

  /// - Parameter line: readable for 64 bytes past its end.
  func take(_ line: UnsafeRawBufferPointer, into account: inout Account) {
    guard let record = JournalRecord(line: line), let dialect = record.dialect,
      let app = account.app(record.app, dialect)
    else {
      unreadable += 1
      return
    }
    let body = UnsafeRawBufferPointer(rebasing: line[record.event])
    let reader = readers[dialect.number] ?? dialect.incoming.makeReader()
    readers[dialect.number] = reader
    guard let event = reader.readRecord(body, kind: record.kind, receivedAt: record.receivedAt) else {
      unreadable += 1
      return
    }
    account.recall(event, record.kind, in: body, app: app, storedAt: record.receivedAt, now: now)
  }
}
