import Clocks
import EventLog
import Synchronization

@testable import Dedupe

/// A request's events, on their way through the deduplication; remembers what became of it.
final class Request: Sendable {
  private let ids: [UInt64]
  private let body: [UInt8]
  private let app: String
  private let at: Timestamp
  private let ended = Mutex<[AppendOutcome]>([])

  /// - Parameter text: what each event's bytes are, the same for all.
  init(_ ids: [UInt64], text: String = "{}", app: String = "ios", at: Timestamp = Timestamp(milliseconds: 0)) {
    self.ids = ids
    body = Array(text.utf8)
    self.app = app
    self.at = at
  }

  /// Nil while it waits.
  var outcome: AppendOutcome? { ended.withLock { $0.count == 1 ? $0[0] : nil } }
  var answers: Int { ended.withLock { $0.count } }
  var isStored: Bool {
    if case .stored = outcome { true } else { false }
  }

  /// Sends it; returns what it repeats, and how many events are appended.
  @discardableResult
  func send(
    _ deduplication: Deduplication, to log: any DurableLog, then: @escaping @Sendable () -> Void = {}
  ) -> (repeats: Deduplication.Repeats, fresh: [UInt64]) {
    let drafts = ids.map { id in
      DraftEvent(
        index: EventIndex(
          idHigh: id, idLow: 7, installHash: 1, userHash: 0, length: body.count, nameOffset: 0, occurredAtOffset: 0,
          occurredAt: at, flags: []), offset: 0)
    }
    return body.withUnsafeBytes { body in
      drafts.withUnsafeBufferPointer { drafts in
        let draft = FrameDraft(app: app, kind: .event, receivedAt: at, body: body, events: drafts)
        var fresh: [DraftEvent] = []
        let admission = deduplication.admit(draft, fresh: &fresh)
        deduplication.append(fresh, of: draft, admission, to: log) { [self] outcome in
          ended.withLock { $0.append(outcome) }
          then()
        }
        return (admission.repeats, fresh.map(\.index.idHigh))
      }
    }
  }

  /// Sends it and waits for its end.
  func sent(_ deduplication: Deduplication, to log: any DurableLog) async -> [UInt64] {
    await withCheckedContinuation { continuation in
      let fresh = Mutex<[UInt64]>([])
      let left = Mutex(2)
      let finish: @Sendable () -> Void = {
        let isLast = left.withLock { left in
          left -= 1
          return left == 0
        }
        if isLast { continuation.resume(returning: fresh.withLock { $0 }) }
      }
      let appended = send(deduplication, to: log, then: finish).fresh
      fresh.withLock { $0 = appended }
      finish()
    }
  }
}
