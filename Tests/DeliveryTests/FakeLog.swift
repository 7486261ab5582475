import Clocks
import JSON
import Synchronization

@testable import EventLog

/// A log in memory, with what of a subscription would be on disk: enough to start a destination again on it.
final class FakeLog: Sendable {
  struct Record: Sendable {
    var event: StoredEvent
    var app: String
    var bytes: [UInt8]
    /// Which request it came with.
    var request: UInt64
  }

  struct Disk: Sendable {
    var settled: Set<UInt64> = []
    var tally = Tally()
    var attachment: JSONValue?
    var commits = 0
  }

  struct State: Sendable {
    var records: [String: [Record]] = [:]
    var count = 0
    var nextSequence: UInt64 = 1
    var disk = Disk()
    var commitFault: String?
    var readFault: String?
  }

  let state = Mutex(State())

  var disk: Disk { state.withLock { $0.disk } }

  func failCommits(_ fault: String?) { state.withLock { $0.commitFault = fault } }
  func failReads(_ fault: String?) { state.withLock { $0.readFault = fault } }

  /// Stores an event; its number.
  @discardableResult
  func append(
    _ text: String, app: String = "ios", kind: EventKind = .event, receivedAt: Timestamp,
    flags: EventIndex.Flags = [], occurredAtOffset: Int = 0, install: UInt64 = 0, occurredAt: Timestamp? = nil,
    dialect: UInt8 = 0, request: UInt64? = nil
  ) -> UInt64 {
    state.withLock { state in
      let sequence = state.nextSequence
      state.nextSequence += 1
      let index = EventIndex(
        idHigh: 0, idLow: 0, installHash: install, userHash: 0, length: text.utf8.count, nameOffset: 0,
        occurredAtOffset: occurredAtOffset, occurredAt: occurredAt ?? receivedAt, flags: flags)
      let event = StoredEvent(
        sequence: sequence, index: index, kind: kind, dialect: dialect, receivedAt: receivedAt, appIndex: 0, offset: 0)
      state.count += 1
      state.records[app, default: []].append(
        Record(event: event, app: app, bytes: Array(text.utf8), request: request ?? sequence))
      return sequence
    }
  }
}

/// A view of the fake log. It begins where the disk has it, as after a crash.
final class FakeSubscription: Subscription {
  private struct State: Sendable {
    var settled: Set<UInt64>
    var tally: Tally
    var cursors: [String: UInt64] = [:]
    /// By app, how many records at the front are settled.
    var floors: [String: Int] = [:]
    var wake: (@Sendable () -> Void)?
    var reads = 0
  }

  let destination = "upstream"
  let log: FakeLog
  private let state: Mutex<State>

  init(_ log: FakeLog) {
    self.log = log
    let disk = log.disk
    state = Mutex(State(settled: disk.settled, tally: disk.tally))
  }

  func onProgress(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// Says that events have come.
  func progress() { state.withLock { $0.wake }?() }

  /// The app's records that are not settled.
  private func open(_ app: String) -> [FakeLog.Record] {
    let records = log.state.withLock { $0.records[app] ?? [] }
    return state.withLock { state in
      var floor = state.floors[app] ?? 0
      while floor < records.count, state.settled.contains(records[floor].event.sequence) { floor += 1 }
      state.floors[app] = floor
      return records[floor...].filter { !state.settled.contains($0.event.sequence) }
    }
  }

  private var apps: [String] { log.state.withLock { $0.records.keys.sorted() } }

  func readyLanes() -> [Lane] {
    apps.filter { app in
      let cursor = state.withLock { $0.cursors[app] } ?? 0
      return (open(app).last?.event.sequence ?? 0) >= max(cursor, 1)
    }.map { .app($0) }
  }

  func pendingLanes() -> [Lane] { apps.filter { !open($0).isEmpty }.map { .app($0) } }

  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool {
    let cursor = state.withLock { $0.cursors[lane.app ?? ""] ?? 0 }
    guard let next = try fill(batch, lane, limit, { $0 >= cursor }) else { return false }
    state.withLock { $0.cursors[lane.app ?? ""] = next }
    return !batch.events.isEmpty
  }

  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool {
    _ = try fill(batch, lane, limit) { number in ranges.contains { $0.contains(number) } }
    return !batch.events.isEmpty
  }

  /// Fills the batch; the number after the last one taken.
  private func fill(
    _ batch: EventBatch, _ lane: Lane, _ limit: ReadLimit, _ isWanted: (UInt64) -> Bool
  ) throws(LogError) -> UInt64? {
    if let fault = log.state.withLock({ $0.readFault }) { throw LogError(fault) }
    batch.removeAll()
    state.withLock { $0.reads += 1 }
    guard let app = lane.app else { return nil }
    var bytes = 0
    var request: UInt64 = 0
    var next: UInt64 = state.withLock { $0.cursors[app] ?? 0 }
    for record in open(app) where isWanted(record.event.sequence) {
      if record.event.sequence > limit.lastSequence || batch.events.count == limit.events { break }
      if !batch.events.isEmpty {
        if bytes + record.bytes.count + 1 > limit.bytes { break }
        if limit.separatesKinds, record.event.kind == .identify { break }
        if limit.separatesRequests, record.request != request { break }
        // As a log lays events that came in one request.
        if batch.events.count % 10 != 0 {
          batch.reserve(1)
          batch.bytes[batch.used] = UInt8(ascii: ",")
          batch.used += 1
        }
      }
      request = record.request
      record.bytes.withUnsafeBytes { batch.append(record.event, app: app, bytes: $0) }
      bytes += record.bytes.count + 1
      next = record.event.sequence + 1
      if limit.separatesKinds, record.event.kind == .identify { break }
    }
    return next
  }

  func rewind(_ lane: Lane) { state.withLock { $0.cursors[lane.app ?? ""] = nil } }

  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    let covered = open(lane.app ?? "").filter { range.contains($0.event.sequence) }
    precondition(UInt64(covered.count) == tally.total, "the tally must count what was unacknowledged")
    state.withLock { state in
      for record in covered { state.settled.insert(record.event.sequence) }
      state.tally.add(tally)
    }
  }

  func commit(attachment: JSONValue?) throws(LogError) {
    if let fault = log.state.withLock({ $0.commitFault }) { throw LogError(fault) }
    let (settled, tally) = state.withLock { ($0.settled, $0.tally) }
    log.state.withLock { state in
      state.disk.settled = settled
      state.disk.tally = tally
      state.disk.commits += 1
      if let attachment { state.disk.attachment = attachment }
    }
  }

  var attachment: JSONValue? { log.disk.attachment }

  func pending(_ lane: Lane) -> Pending {
    let records = open(lane.app ?? "")
    return Pending(events: records.count, oldestReceivedAt: records.first?.event.receivedAt)
  }

  var pending: Pending {
    let lanes = apps.map { pending(.app($0)) }
    return Pending(
      events: lanes.reduce(0) { $0 + $1.events }, oldestReceivedAt: lanes.compactMap(\.oldestReceivedAt).min())
  }

  func pendingNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64] {
    let events = open(lane.app ?? "").map(\.event).filter { isWanted($0.dialect) }
    return events.filter { ($0.index.flags.contains(.clamped) ? $0.receivedAt : $0.index.occurredAt) < moment }
      .prefix(limit).map(\.sequence)
  }

  var ledger: Ledger {
    let accepted = log.state.withLock { $0.count }
    let tally = state.withLock { $0.tally }
    return Ledger(accepted: UInt64(accepted), settled: tally, waiting: UInt64(accepted) - tally.total)
  }

  func discard() throws(LogError) {}

  var reads: Int { state.withLock { $0.reads } }
}
