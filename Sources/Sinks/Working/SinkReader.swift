import Clocks
import Configuration
import EventLog
import Observability
import Records

/// What a sink's worker reads its events through: only those its user wants, and no more behind than the user allows.
///
/// The worker reads a batch, notes what of it is written as it goes along, and acknowledges what is noted once that is
/// safe. A batch holds new events or events that are sent again, never both. Not thread-safe; lives on the sink's thread.
final class SinkReader {
  /// Drops are told once in so long, with their sum.
  static let noticeInterval: Duration = .seconds(60)

  let subscription: any Subscription
  /// After ``read(_:)``: the wanted events of what was read, in order.
  let batch: EventBatch

  private let selection: EventSelection
  /// Bytes of the log; nil: as far behind as it comes.
  private let maxBehind: Int?
  private let logger: Logger

  /// What was read of a lane and not acknowledged.
  private struct Reading {
    /// The numbers, unwanted events' among them.
    var range: ClosedRange<UInt64>?
    /// What of it is noted.
    var noted = (through: UInt64(0), wanted: 0, unwanted: 0)
  }

  /// The lane the batch is of: new events, or such as are sent again. Each has numbers of its own.
  private(set) var lane = Lane.all
  private var new = Reading()
  private var again = Reading()
  private var reading: Reading {
    get { lane.isReplayed ? again : new }
    set { if lane.isReplayed { again = newValue } else { new = newValue } }
  }
  /// The numbers of the batch's lane that were read and not acknowledged, unwanted events' among them.
  var range: ClosedRange<UInt64>? { reading.range }
  /// The numbers of the batch's unwanted events that are not noted yet.
  private var unwanted: ArraySlice<UInt64> = []
  private var dropped = 0
  private var noticedAt: ContinuousClock.Instant?

  private static let dropBytesMax = 1 << 20

  /// - Parameter capacity: bytes the batch has room for at first; it grows for a larger event.
  init(
    _ subscription: any Subscription, _ common: RelayConfiguration.Sink.Common, capacity: Int = 272 * 1024,
    logger: Logger
  ) {
    self.subscription = subscription
    self.logger = logger
    selection = EventSelection(common)
    maxBehind = common.maxBehind
    batch = EventBatch(capacity: capacity)
  }

  /// Reads on, in turn from the new events and from those that are sent again. What was read before must all be noted.
  ///
  /// - Parameter lane: the one lane to read from; nil: whichever has something.
  /// - Returns: false when there is nothing to read. When all that was read is unwanted, the batch is empty and the answer
  ///   true.
  func read(_ limit: ReadLimit, from lane: Lane? = nil) throws(LogError) -> Bool {
    for lane in lane.map({ [$0] }) ?? [self.lane.counterpart, self.lane] {
      guard try subscription.read(lane, limit: limit, into: batch), let first = batch.events.first?.sequence,
        let last = batch.events.last?.sequence
      else { continue }
      self.lane = lane
      reading.range = (reading.range?.lowerBound ?? first)...last
      sift()
      return true
    }
    return false
  }

  /// Leaves the wanted events in the batch.
  private func sift() {
    unwanted = []
    guard !selection.isAll else { return }
    var numbers: [UInt64] = []
    batch.keep { event in
      let isWanted = selection.admits(event, app: batch.app(of: event), bytes: batch.bytes(of: event))
      if !isWanted { numbers.append(event.sequence) }
      return isWanted
    }
    unwanted = numbers[...]
  }

  /// Whether something was read and not acknowledged, wanted or not.
  var hasUnacknowledged: Bool { new.range != nil || again.range != nil }

  /// Some of the batch's events, the next in order, are written, and with them what was unwanted before the last of them.
  func note(_ events: ArraySlice<StoredEvent>) {
    guard let last = events.last?.sequence else { return }
    note(through: last, wanted: events.count)
  }

  /// The rest of the batch is written, or unwanted; `wanted` of its events were not noted before.
  func noteRest(wanted: Int = 0) {
    guard let last = range?.upperBound else { return }
    note(through: last, wanted: wanted)
  }

  private func note(through last: UInt64, wanted: Int) {
    let passed = unwanted.prefix { $0 < last || $0 == range?.upperBound }
    unwanted = unwanted.dropFirst(passed.count)
    let noted = reading.noted
    reading.noted = (last, noted.wanted + wanted, noted.unwanted + passed.count)
  }

  /// Takes what is noted off what the sink is owed: what was wanted came to this, the rest is filtered.
  /// - Returns: whether there was anything.
  @discardableResult
  func acknowledge(_ outcome: Outcome = .delivered) -> Bool {
    let hasNew = acknowledge(.all, &new, outcome)
    let hasAgain = acknowledge(.allReplayed, &again, outcome)
    return hasNew || hasAgain
  }

  private func acknowledge(_ lane: Lane, _ reading: inout Reading, _ outcome: Outcome) -> Bool {
    let noted = reading.noted
    guard let range = reading.range, noted.through >= range.lowerBound else { return false }
    var tally = Tally(outcome, noted.wanted)
    tally.add(.filtered, UInt64(noted.unwanted))
    subscription.acknowledge(lane, range.lowerBound...noted.through, tally)
    reading.range = noted.through < range.upperBound ? noted.through + 1...range.upperBound : nil
    reading.noted = (0, 0, 0)
    return true
  }

  /// What was read and not acknowledged is read again.
  func rewind() {
    new = Reading()
    again = Reading()
    unwanted = []
    subscription.rewind(.all)
    subscription.rewind(.allReplayed)
  }

  /// Whether there is a bound to how far behind the sink may be.
  var isBounded: Bool { maxBehind != nil }

  /// Whether the sink is further behind than its user allows.
  var isTooFarBehind: Bool { maxBehind.map { subscription.behindBytes(.all) > $0 } ?? false }

  /// Gives up the oldest events until the sink is no more behind than its user allows; the commit is the caller's.
  ///
  /// To be called with nothing unacknowledged. Tells of it in the log now and then.
  func dropBehind() throws(LogError) {
    guard let maxBehind, new.range == nil else { return }
    var count = 0
    while case let excess = subscription.behindBytes(.all) - maxBehind, excess > 0 {
      // Half of it at a time: an event takes more of the log than its own bytes, and no more is to go than must.
      let limit = ReadLimit(events: 10_000, bytes: min(max(excess / 2, 1), Self.dropBytesMax))
      guard try subscription.read(.all, limit: limit, into: batch), let first = batch.events.first?.sequence,
        let last = batch.events.last?.sequence
      else { break }
      subscription.acknowledge(.all, first...last, Tally(.droppedBehind, batch.events.count))
      count += batch.events.count
    }
    batch.removeAll()
    dropped += count
    guard dropped > 0, noticedAt.map({ .now - $0 >= Self.noticeInterval }) ?? true else { return }
    noticedAt = .now
    logger.warning(
      "the sink was further behind than max_behind: its oldest events were dropped", about: subscription.destination,
      ["events": .integer(dropped), "max_behind": .integer(maxBehind)])
    dropped = 0
  }
}

extension EventSelection {
  init(_ common: RelayConfiguration.Sink.Common) {
    self.init(
      apps: Set(common.apps), names: common.names,
      kinds: Set(common.kinds.map { $0 == .event ? EventKind.event : .identify }), sample: common.sample)
  }
}
