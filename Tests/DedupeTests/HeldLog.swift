import Clocks
import EventLog
import Synchronization

/// A log that holds each append until the test says what became of it.
final class HeldLog: DurableLog, Sendable {
  private struct State {
    var waiting: [@Sendable (AppendOutcome) -> Void] = []
    var sizes: [Int] = []
    var next: UInt64 = 1
  }

  private let state = Mutex(State())

  /// How many events each append had.
  var sizes: [Int] { state.withLock { $0.sizes } }

  func append(_ draft: borrowing FrameDraft, completion: @escaping @Sendable (AppendOutcome) -> Void) {
    let count = draft.events.count
    state.withLock {
      $0.waiting.append(completion)
      $0.sizes.append(count)
    }
  }

  /// Ends the append of this number, the first being 0.
  func store(_ number: Int) {
    let (completion, first) = state.withLock { state in
      defer { state.next += UInt64(state.sizes[number]) }
      return (state.waiting[number], state.next)
    }
    completion(.stored(first: first))
  }

  func refuse(_ number: Int, _ refusal: AppendRefusal) { state.withLock { $0.waiting[number] }(.refused(refusal)) }

  func subscribe(_ destination: String, origin: SubscriptionOrigin) throws(LogError) -> any Subscription {
    throw LogError("this log has no subscriptions")
  }

  var knownDestinations: [String] { [] }
  var health: LogHealth { .ok }
  var statistics: LogStatistics {
    LogStatistics(
      sizeBytes: 0, maxSizeBytes: 0, segments: 0, spareSegments: 0, oldestSequence: 1, nextSequence: 1,
      oldestReceivedAt: nil, acceptedEvents: 0, droppedEvents: 0, corruptRecords: 0, appendWaitingSince: nil)
  }
  var newestRecordAtStart: Timestamp? { nil }
  func close() {}
}
