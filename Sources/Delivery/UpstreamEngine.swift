import Clocks
import DeadLetters
import EventLog
import EventsAPI
import HTTPClient
import JSON
import Records

/// Sends each app's events upstream, each install's in order; lives on the HTTP client's thread.
///
/// What a lane does next is decided by ``DeliveryState``; here it is done. A lane that waits holds no batch and no body:
/// another try reads the same events from the log again, by their numbers.
actor UpstreamEngine {
  /// Requests under way over all lanes; each upstream has its share of them.
  static let inFlightMax = 64
  /// Bytes of their bodies; one more is begun while they are fewer than an upstream's share.
  static let inFlightBytesMax = 8 << 20
  /// Between two commits while events are being delivered.
  static let commitInterval: Duration = .milliseconds(500)
  /// And when something must be remembered soon.
  static let urgentCommitInterval: Duration = .milliseconds(50)
  /// How long something local that failed (the log, the position's file) is left alone.
  static let localRetry: Duration = .seconds(5)
  static let limitsInterval: Duration = .seconds(3600)
  static let timersMaxAtFirst = 1024

  enum Timer {
    case lane(DeliveryLane)
    case key(SendingKey)
    case commit
    case open
    case flush(Int)
    case limits
    case expiry
    case stop
  }

  let context: UpstreamContext
  /// How events are sent: of most apps, and of those with an upstream of their own.
  var usual: AppUpstream
  var own: [String: AppUpstream]
  /// Whose turn is next.
  var order: UpstreamConfiguration.Order
  nonisolated let board = DeliveryBoard()
  nonisolated let waker = Waker()
  nonisolated var unownedExecutor: UnownedSerialExecutor { context.scheduler.asUnownedSerialExecutor() }

  /// What is on record of the life before this one.
  let lastLife: UpstreamOpening
  /// Pauses of the life before this one, by the keys' fingerprints, of keys that nothing was sent with yet.
  var pausesOnRecord: [String: UpstreamRecord.PauseRecord]
  // What is kept with the position.
  var opening: UpstreamOpening
  var record: UpstreamRecord
  /// The dead letters' file that is on record on disk.
  var committedDeadLetters: FileMark?
  /// The record on disk is older than `record` and the lanes' delays.
  var isRecordDirty = false
  /// Something was acknowledged since the last commit.
  var isPositionDirty = false
  var lastCommit: ContinuousClock.Instant
  var commitDue: ContinuousClock.Instant?
  /// The last commit failed: the next one is tried then.
  var commitNotBefore: ContinuousClock.Instant

  var isOpen = false
  /// It was open, and another configuration has closed it.
  var isInterrupted = false
  var isDraining = false
  var isStopped = false
  var lanes: [Lane: DeliveryLane] = [:]
  /// Every upstream that lanes send to, or sent to lately.
  var outlets: [Outlet] = []
  /// The one that comes next.
  var nextOutlet = 0
  /// How many of them are configured: each has its share of what may be under way.
  var shares = 1
  /// For events that join a batch which holds others already.
  let scratch = EventBatch()
  /// Between two commits: the longer they take, the longer.
  var commitPause = Duration.zero
  /// What one lane may have parked, in runs.
  var parkedLevel = ParkedEvents.runsMax
  var nextPlace = 0
  var nextFlight = 0
  /// What was logged in this hour and isn't again, however often it happens.
  var toldLately: Set<Told> = []
  var pool = BufferPool()
  var inFlight = 0
  var timers = DeadlineQueue<Timer>()
  /// With more timers than this, those that mean nothing any more are let go.
  var timersMax = timersMaxAtFirst
  /// When lanes that are held are looked through for events that have grown too old.
  var expiryDue: ContinuousClock.Instant?
  var armed: ContinuousClock.Instant?
  var timerTask: Task<Void, Never>?
  var flushes: [Int: FlushRequest] = [:]
  var nextFlush = 0
  /// Who waits until nothing is in flight.
  var idleWaiters: [CheckedContinuation<Void, Never>] = []
  /// When this life began.
  let began: ContinuousClock.Instant
  let deadLetterLines: RecordLines

  init(context: UpstreamContext, opening: UpstreamOpening) {
    self.context = context
    let upstreams = context.upstreams
    usual = AppUpstream(upstreams.usual, owner: nil)
    own = AppUpstream.own(upstreams)
    order = upstreams.usual.order
    shares = upstreams.outlets
    lastLife = opening
    self.opening = opening
    record = opening.record
    pausesOnRecord = Self.pauses(of: opening.record)
    committedDeadLetters = opening.record.deadLetters
    began = context.scheduler.now
    lastCommit = began
    commitNotBefore = lastCommit
    deadLetterLines = RecordLines(relay: context.relay)
  }

  var now: ContinuousClock.Instant { context.scheduler.now }
  var subscription: any Subscription { context.subscription }

  /// Works until it is stopped.
  func run() async {
    open()
    while !isStopped {
      await waker.wait()
      guard !isStopped else { return }
      takeReadyLanes()
      pump()
    }
  }

  /// Makes ready to send: the record on disk, the dead letters cut back to it, the lanes that have something.
  ///
  /// What fails is tried again; nothing is sent before.
  func open() {
    guard !isOpen, !isStopped else { return }
    if let hold = opening.wholeHold {
      context.logger.error("nothing is sent upstream", about: UpstreamContext.destination, ["reason": .text(hold)])
      board.change { $0.whole = (.held, hold) }
      return
    }
    if isInterrupted { return reopen() }
    do {
      if opening.mustCommit { try subscription.commit(attachment: opening.record.json) }
      opening.mustCommit = false
      let behind = try context.deadLetters.numbers(behind: record.deadLetters)
      try context.deadLetters.recover(
        UpstreamContext.destination, mark: record.deadLetters,
        keepsLetters: !subscription.owed(among: behind).isAll)
      try beginLife()
    } catch {
      let reason = (error as? LogError)?.description ?? (error as? FileError)?.description ?? "\(error)"
      context.logger.error(
        "the upstream's records can't be taken up", about: UpstreamContext.destination, ["reason": .text(reason)])
      board.change { $0.whole = (.failing, reason) }
      timers.add(now + Self.localRetry, .open)
      pump()
      return
    }
    isOpen = true
    board.change { $0.whole = nil }
    tellHolds()
    restoreLanes()
    for lane in subscription.pendingLanes() { consider(lane) }
    timers.add(now + Self.limitsInterval, .limits)
    context.deadLetters.enforceLimits()
    giveUpExpired()
    pump()
  }

  private func restoreLanes() {
    for waiting in record.lanes {
      let lane = lane(waiting.isReplayed ? .replayed(waiting.app) : .app(waiting.app), app: waiting.app)
      lane.state = DeliveryState(
        restored: waiting, concurrency: lane.upstream.configuration.concurrency,
        stepsAside: lane.upstream.stepsAside, now: now, wallNow: context.clock.now)
      lane.state.limitParking(to: parkedLevel)
      lane.refusedKey = waiting.refusedKey
      lane.notice = DeliveryLane.Notice(state: waiting.state, detail: waiting.detail)
      lane.needsRewind = true
      if waiting.isAsked, let key = context.keys.upstreamKey(ofApp: waiting.app) {
        sendingKey(key, lane).ask(lane.state.delay)
      }
    }
    restoreTries()
  }

  func lane(_ place: Lane, app: String) -> DeliveryLane {
    if let lane = lanes[place] { return lane }
    let upstream = own[app] ?? usual
    let state = DeliveryState(
      concurrency: upstream.configuration.concurrency, stepsAside: upstream.stepsAside)
    let lane = DeliveryLane(place, app: app, state: state, upstream, outlet(OutletID(upstream.configuration)))
    lane.state.limitParking(to: parkedLevel)
    lanes[place] = lane
    return lane
  }

  func consider(_ lane: Lane) {
    if let app = lane.app { consider(self.lane(lane, app: app)) }
  }

  /// Looks at the lanes in which something has come.
  func takeReadyLanes() {
    guard isOpen, !isDraining else { return }
    for lane in subscription.readyLanes() { consider(lane) }
  }

  /// Looks again at all lanes: one may have a key that had none, and one that waits may have another than it waits for.
  func keysChanged() {
    for sending in allKeys {
      for lane in sending.waiters where context.keys.upstreamKey(ofApp: lane.app) != sending.key {
        lane.waitsFor = nil
      }
      sending.waiters.removeAll { !$0.isWaitingForKey }
      serve(sending)
    }
    for lane in lanes.values { consider(lane) }
    pump()
  }

  /// Lets lanes send while there is room, and sets the timer.
  func pump() {
    while isOpen, !isDraining, !isStopped, let lane = nextInQueue() { launch(lane) }
    if !flushes.isEmpty { checkFlushes() }
    commitIfDue()
    arm()
  }

  /// Takes the first moment that something waits for as the timer's.
  private func arm() {
    guard !isStopped, let next = timers.earliest else { return }
    if let armed, armed <= next { return }
    armed = next
    timerTask?.cancel()
    timerTask = Task {
      guard (try? await context.scheduler.sleep(until: next)) != nil, !Task.isCancelled else { return }
      fire(next)
    }
  }

  private func fire(_ moment: ContinuousClock.Instant) {
    guard armed == moment, !isStopped else { return }
    armed = nil
    let now = now
    while let entry = timers.take(dueAt: now) {
      switch entry.subject {
      case .lane(let lane):
        guard lane.timer == entry.deadline else { continue }
        lane.timer = nil
        consider(lane)
      case .key(let key):
        guard key.timer == entry.deadline else { continue }
        key.timer = nil
        serve(key)
      case .commit: break
      case .open: open()
      case .flush(let id): finishFlush(id)
      case .limits:
        context.deadLetters.enforceLimits()
        forgetIdleKeys()
        toldLately = []
        lookAtHeld()
        timers.add(now + Self.limitsInterval, .limits)
      case .expiry: if expiryDue == entry.deadline { giveUpExpired() }
      case .stop: resumeIdleWaiters()
      }
    }
    pump()
  }
}
