import Clocks
import EventLog

extension UpstreamDestination {
  /// How long nothing may happen beyond what explains it, before that counts as stuck.
  static let patience: Duration = .seconds(10)
  static let lanesShownMax = 100

  public var status: DestinationStatus {
    let subscription = context.subscription
    let board = engine.board.snapshot
    let pending = subscription.pending
    var status = DestinationStatus(
      name: name, type: type, state: .running, pending: pending, lastError: board.lastError,
      ledger: subscription.ledger, lanes: lanes(board))
    // Of several in the same state always the same one, so that the text doesn't flicker.
    let worst = board.lanes.max {
      (Self.rank($0.value.state), $1.key.app ?? "") < (Self.rank($1.value.state), $0.key.app ?? "")
    }?.value
    if let worst, worst.state != .running {
      status.state = worst.state
      status.detail = worst.detail
    }
    if let hold = board.hold, Self.rank(status.state) < Self.rank(.held) {
      status.state = .held
      status.detail = hold
    }
    if let fault = board.commitFault {
      status.state = .failing
      status.detail = "Positions can't be written: \(fault)"
    }
    if let whole = board.whole {
      status.state = whole.state
      status.detail = whole.detail
    }
    if board.isStopped { status.state = .stopped }
    status.retryAt = board.lanes.values.compactMap(board.retryAt).min()
    status.stuckSince = engine.board.stuckSince(
      waiting: pending.events, now: context.scheduler.now, patience: Self.patience,
      longest: context.upstreams.requestTimeMax)
    return status
  }

  private func lanes(_ board: DeliveryBoard.State) -> [DestinationStatus.LaneStatus] {
    let waiting = context.subscription.pendingLanes().map { ($0, context.subscription.pending($0).events) }
    let known = Set(waiting.map(\.0))
    let silent = board.lanes.keys.filter { !known.contains($0) && board.lanes[$0]?.state != .running }.map { ($0, 0) }
    let all = (waiting + silent).sorted {
      ($1.1, $0.0.app ?? "", $0.0.isReplayed ? 1 : 0) < ($0.1, $1.0.app ?? "", $1.0.isReplayed ? 1 : 0)
    }
    return all.prefix(Self.lanesShownMax).map { lane, pending in
      let entry = board.lanes[lane]
      var meter = entry?.rate ?? RateMeter()
      let rate = meter.rate(at: context.scheduler.now)
      let state = board.whole?.state ?? entry?.state ?? .running
      let retryAt = entry.flatMap(board.retryAt)
      let configuration = context.configuration(of: lane)
      return DestinationStatus.LaneStatus(
        app: lane.app ?? "", state: state, detail: entry?.detail, pending: pending, retryAt: retryAt,
        isReplayed: lane.isReplayed, rate: rate, parkedInstalls: entry?.parkedInstalls ?? 0,
        drainsIn: DrainEstimate(
          pending: pending, rate: rate, longestParked: entry?.parkedLongest ?? 0,
          wait: retryAt.map { max($0 - context.clock.now, .zero) } ?? .zero,
          isHeld: state == .held || state == .refused
        ).duration(
          configuration.rateLimit,
          countsRequests: configuration.dialect.outgoing.habits.limitUnit == .requests))
    }
  }

  /// What is worse comes first to those who look.
  private static func rank(_ state: DestinationStatus.State) -> Int {
    switch state {
    case .running: 0
    case .paced: 1
    case .stopped: 2
    case .waiting: 3
    case .held: 4
    case .foreign: 5
    case .refused, .gone: 6
    case .failing: 7
    }
  }
}
