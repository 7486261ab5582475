import Clocks
import EventLog
import JSON
import Synchronization
import TestSupport

/// A log without files, for one destination: what was committed survives a ``crash()``, nothing else does.
final class MemoryLog: Sendable {
  struct Stored: Sendable {
    var event: StoredEvent
    var app: String
    var bytes: [UInt8]
  }

  struct State: Sendable {
    var events: [Stored] = []
    /// How many of the events are settled, and the attachment, as committed.
    var committed = 0
    var attachment: JSONValue?
    /// What became of the committed ones.
    var settled = Tally()
    var failsCommit = false
    var failsRead = false
    var commits = 0
  }

  let state = Mutex(State())
  /// How many events are settled, for those who wait for it.
  let committed = Fact(0)
  private let wakes = Mutex<[@Sendable () -> Void]>([])

  @discardableResult
  func append(
    _ text: String, app: String = "ios", kind: EventKind = .event, at receivedAt: Timestamp,
    flags: EventIndex.Flags = []
  ) -> UInt64 {
    let sequence = state.withLock { state in
      let sequence = UInt64(state.events.count) + 1
      let bytes = Array(text.utf8)
      let index = EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: bytes.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: receivedAt, flags: flags)
      state.events.append(
        Stored(
          event: StoredEvent(
            sequence: sequence, index: index, kind: kind, dialect: 0, receivedAt: receivedAt, appIndex: 0, offset: 0),
          app: app, bytes: bytes))
      return sequence
    }
    for wake in wakes.withLock({ $0 }) { wake() }
    return sequence
  }

  /// A subscription that knows what was committed, and nothing else.
  func subscribe(_ name: String = "raw") -> MemorySubscription { MemorySubscription(name, self) }

  func addWake(_ wake: @escaping @Sendable () -> Void) { wakes.withLock { $0.append(wake) } }

  var count: Int { state.withLock { $0.events.count } }
}

/// A view of a ``MemoryLog``: acknowledged in order, as sinks of files do.
final class MemorySubscription: Subscription {
  private struct State {
    var cursor: Int
    var acknowledged: Int
    var settled: Tally
  }

  let destination: String
  private let log: MemoryLog
  private let state: Mutex<State>

  init(_ destination: String, _ log: MemoryLog) {
    self.destination = destination
    self.log = log
    let (committed, settled) = log.state.withLock { ($0.committed, $0.settled) }
    state = Mutex(State(cursor: committed, acknowledged: committed, settled: settled))
  }

  func onProgress(_ wake: @escaping @Sendable () -> Void) { log.addWake(wake) }
  func readyLanes() -> [Lane] { [] }
  func pendingLanes() -> [Lane] { [] }

  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool {
    batch.removeAll()
    let (events, fails) = log.state.withLock { ($0.events, $0.failsRead) }
    if fails { throw LogError("the log can't be read") }
    guard lane == .all else { return false }
    return state.withLock { state in
      var bytes = 0
      while state.cursor < events.count, batch.events.count < limit.events {
        let next = events[state.cursor]
        guard next.event.sequence <= limit.lastSequence else { break }
        guard batch.events.isEmpty || bytes + next.bytes.count + 1 <= limit.bytes else { break }
        next.bytes.withUnsafeBytes { batch.append(next.event, app: next.app, bytes: $0) }
        bytes += next.bytes.count + 1
        state.cursor += 1
      }
      return !batch.events.isEmpty
    }
  }

  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool {
    preconditionFailure("no sink reads given events again")
  }

  func rewind(_ lane: Lane) { if lane == .all { rewind() } }

  private func rewind() { state.withLock { $0.cursor = $0.acknowledged } }

  func owed(among numbers: [UInt64]) -> OwedNumbers {
    let (count, acknowledged) = (log.count, state.withLock { $0.acknowledged })
    return OwedNumbers(
      new: Set(numbers).filter { $0 > UInt64(acknowledged) && $0 <= UInt64(count) }.sorted(), among: numbers)
  }

  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    state.withLock { state in
      precondition(range.lowerBound == UInt64(state.acknowledged) + 1, "acknowledged out of order")
      precondition(tally.total == UInt64(range.count), "the tally is not the range's")
      state.acknowledged = Int(range.upperBound)
      state.settled.add(tally)
    }
  }

  func commit(attachment: JSONValue?) throws(LogError) {
    let (acknowledged, settled) = state.withLock { ($0.acknowledged, $0.settled) }
    let fails = log.state.withLock { state in
      if state.failsCommit { return true }
      state.committed = acknowledged
      state.settled = settled
      state.attachment = attachment ?? state.attachment
      state.commits += 1
      return false
    }
    if fails { throw LogError("the position can't be written") }
    log.committed.change { $0 = acknowledged }
  }

  var attachment: JSONValue? { log.state.withLock { $0.attachment } }

  func pending(_ lane: Lane) -> Pending {
    lane == .all ? pending : Pending(events: 0, oldestReceivedAt: nil)
  }

  /// A byte for each event.
  func behindBytes(_ lane: Lane) -> Int { pending.events }

  var pending: Pending {
    let events = log.state.withLock { $0.events }
    let acknowledged = state.withLock { $0.acknowledged }
    return Pending(
      events: events.count - acknowledged,
      oldestReceivedAt: acknowledged < events.count ? events[acknowledged].event.receivedAt : nil)
  }

  var ledger: Ledger {
    let count = log.count
    let (acknowledged, settled) = state.withLock { ($0.acknowledged, $0.settled) }
    return Ledger(
      accepted: UInt64(count), settled: settled, waiting: UInt64(count - acknowledged))
  }

  func discard() throws(LogError) {}
}
