import Clocks
import JSON
import Observability
import Synchronization

/// A destination's view of the file log.
///
/// Lives from the log's opening for every destination with a record, whether somebody has subscribed or not, since what
/// is owed holds segments either way.
///
/// `@unchecked`: what changes is guarded by `monitor`, but for what is said to belong elsewhere.
final class FileSubscription: Subscription, @unchecked Sendable {
  let destination: String
  let context: LogReadingContext
  let store: PositionStore
  let tuning: FileLogTuning
  let logger: Logger
  let inbox = Inbox()
  /// Called after each commit: segments may be free now.
  let didCommit: @Sendable () -> Void
  let didDiscard: @Sendable (FileSubscription) -> Void
  let monitor = Monitor()
  /// A lock of its own, since the writer calls it: it must not wait for whoever looks into directories on the disk.
  private let wake = Mutex(Wake())
  /// One commit at a time; taken before `monitor`.
  let commitMonitor = Monitor()

  // Guarded by `monitor`.

  var mode: PositionRecord.Mode
  var lanes: [AppID: LaneState] = [:]
  var ready: Set<AppID> = []
  var settled: Tally
  var accepted: UInt64 = 0
  /// The number after the newest event taken notice of.
  var seen: UInt64
  /// What is owed of each segment, by its number.
  var owed: [UInt64: Int] = [:]
  var countersSince: Timestamp?
  /// Of what was counted as lost at the opening, how much isn't known to have been found.
  var missingAtOpening: UInt64 = 0
  var lastAttachment: JSONValue?
  /// A lane without a state is settled up to here.
  var isTaken = false
  var isDiscarded = false
  private var arrived: [Inbox.Item] = []
  /// What is on disk, and what of each segment it leaves owed.
  var committed: PositionRecord
  var committedOwed: [UInt64: Int] = [:]
  /// Nil: it holds all that it is owed.
  var yielding: Yielding?

  /// Takes up a destination from its record.
  ///
  /// - Parameter isNew: the record was made just now: its books begin with what is owed.
  init(
    _ record: PositionRecord, isNew: Bool, context: LogReadingContext, store: PositionStore, tuning: FileLogTuning,
    logger: Logger,
    didCommit: @escaping @Sendable () -> Void, didDiscard: @escaping @Sendable (FileSubscription) -> Void
  ) throws(LogError) {
    destination = record.destination
    self.context = context
    self.store = store
    self.tuning = tuning
    self.logger = logger
    self.didCommit = didCommit
    self.didDiscard = didDiscard
    mode = record.mode
    settled = record.settled
    countersSince = record.countersSince
    lastAttachment = record.attachment
    committed = record
    seen = context.catalog.monitor.withLock { context.catalog.publishedEnd }
    try restoreLanes(record)
    if isNew { accepted = settled.total + UInt64(waiting) } else { balance(record) }
    committedOwed = owed
  }

  var catalog: SegmentCatalog { context.catalog }

  // MARK: The books

  var attachment: JSONValue? { monitor.withLock { committed.attachment } }

  var ledger: Ledger {
    monitor.withLock {
      drain()
      return Ledger(accepted: accepted, settled: settled, waiting: UInt64(waiting))
    }
  }

  /// Events owed over all lanes.
  var waiting: Int { lanes.values.reduce(0) { $0 + $1.pending } }

  /// When the counts began anew after a damaged record; nil when they are whole.
  var countsSince: Timestamp? { monitor.withLock { countersSince } }

  var pending: Pending {
    monitor.withLock {
      drain()
      var total = Pending(events: 0, oldestReceivedAt: nil)
      for lane in lanes.values where lane.pending > 0 {
        total.events += lane.pending
        guard let moment = oldest(lane)?.receivedAt else { continue }
        total.oldestReceivedAt = min(total.oldestReceivedAt ?? moment, moment)
      }
      return total
    }
  }

  func pending(_ lane: Lane) -> Pending {
    monitor.withLock {
      drain()
      guard let lane = state(lane), lane.pending > 0 else { return Pending(events: 0, oldestReceivedAt: nil) }
      return Pending(events: lane.pending, oldestReceivedAt: oldest(lane)?.receivedAt)
    }
  }

  func behindBytes(_ lane: Lane) -> Int {
    monitor.withLock {
      drain()
      guard let lane = state(lane), lane.pending > 0, let oldest = oldest(lane),
        (try? lane.directory.seek(catalog, to: oldest.sequence)) == true, let segment = lane.directory.segment
      else { return 0 }
      let offset = (try? lane.directory.entry(catalog))?.offset ?? 0
      return catalog.bytes(from: segment, offset: offset)
    }
  }

  // MARK: Progress

  /// A closure in a struct: one that is a generic lock's very value is wrapped once more at every look at it, in a chain
  /// that grows without end.
  private struct Wake {
    var call: (@Sendable () -> Void)?
  }

  func onProgress(_ wake: @escaping @Sendable () -> Void) { self.wake.withLock { $0.call = wake } }

  func callWake() { wake.withLock { $0.call }?() }

  func readyLanes() -> [Lane] {
    monitor.withLock {
      drain()
      return ready.map(lane)
    }
  }

  func pendingLanes() -> [Lane] {
    monitor.withLock {
      drain()
      return lanes.values.filter { $0.pending > 0 }.map { lane($0.app) }
    }
  }

  private func lane(_ app: AppID) -> Lane { app == .all ? .all : .app(catalog.names.name(of: app)) }

  /// Takes notice of what has been synced.
  func drain() {
    guard let end = inbox.drain(into: &arrived) else { return }
    for item in arrived {
      let lane = laneState(mode == .all ? .all : item.app, low: item.first - 1)
      if lane.pending == 0 {
        lane.marks.settle(through: item.first - 1)
        lane.oldest = (item.first, item.receivedAt)
        if lane.cursor < item.first { lane.cursor = item.first }
      }
      lane.pending += item.events
      lane.last = max(lane.last, item.last)
      owed[item.segment, default: 0] += item.events
      accepted += UInt64(item.events)
      ready.insert(lane.app)
    }
    seen = max(seen, end)
  }

  /// The lane's state, made when there is none yet.
  func laneState(_ app: AppID, low: UInt64) -> LaneState {
    if let lane = lanes[app] { return lane }
    let lane = LaneState(app: app, marks: LaneMarks(low: low))
    lanes[app] = lane
    return lane
  }

  /// The lane's state as the caller names it; nil when it has never had anything.
  func state(_ lane: Lane) -> LaneState? {
    switch lane {
    case .all:
      if mode == .apps { mergeLanes() }
      return lanes[.all]
    case .app(let name):
      if mode == .all { splitLanes() }
      return catalog.names.known(name).flatMap { lanes[$0] }
    case .replayed, .allReplayed:
      // They lie in a log of their own.
      return nil
    }
  }
}
