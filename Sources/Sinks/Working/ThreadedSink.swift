import Dispatch
import EventLog
import Observability
import Records
import Synchronization
import Threads

/// Runs a sink's worker on a thread of its own: what is the same for every type of sink.
///
/// All the worker's work happens on that one thread; a disk that hangs holds up nobody else.
final class ThreadedSink: Destination {
  /// Events are gathered so long before they are written, when they come one after the other: short, so that what is then
  /// done at one go is little.
  static let gatherInterval: Duration = .milliseconds(5)
  /// The work is shallow, and each sink has a thread.
  private static let stackBytes = 512 * 1024
  /// A sink compresses and hashes in bursts of milliseconds. Whoever takes requests in goes first: what a sink does can wait,
  /// an answer can't.
  private static let niceness: Int32 = 10
  /// Steps without a pause between them from which on the sink has a backlog, and catches up as fast as it can.
  static let backlogSteps = 50
  /// How long after its deadline `stop` still waits for the worker to finish.
  static let stopGrace: Duration = .seconds(2)

  private struct Flush {
    var id: Int
    /// How many events must be settled in all.
    var target: UInt64
    var resume: CheckedContinuation<Void, Never>
  }

  private struct State {
    var condition = SinkCondition()
    var hasStarted = false
    var isStopped = false
    var isReloaded = false
    var stopDeadline: ContinuousClock.Instant?
    var stopping: [(id: Int, resume: CheckedContinuation<Void, Never>)] = []
    var flushes: [Flush] = []
    var nextID = 0
    /// Since when the thread is in the step it is in; nil while it waits.
    var stepSince: ContinuousClock.Instant?
  }

  let name: String
  let type: String
  private let subscription: any Subscription
  private let logger: Logger
  private let makeWorker: @Sendable (SinkWake) -> any SinkWorker

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  /// Events have come since the thread last read.
  private let hasProgress = Atomic<Bool>(false)
  /// Somebody flushes or stops, or what the worker waited for has come.
  private let isUrgent = Atomic<Bool>(false)

  /// - Parameters:
  ///   - subscription: the sink's own view of the log.
  ///   - makeWorker: called once, on the sink's thread.
  init(
    name: String, type: String, subscription: any Subscription, logger: Logger,
    makeWorker: @escaping @Sendable (SinkWake) -> any SinkWorker
  ) {
    self.name = name
    self.type = type
    self.subscription = subscription
    self.logger = logger
    self.makeWorker = makeWorker
  }

  func start() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted && state.stopDeadline == nil
    }
    guard isFirst else { return }
    subscription.onProgress { [weak self] in self?.noteProgress() }
    let code = DetachedThread.start(
      name: name, stackBytes: Self.stackBytes, niceness: Self.niceness
    ) { self.run() }
    guard code != 0 else { return }
    let error = FileError(.open, "a thread for sink “\(name)”", code: code).description
    logger.error("sink can't start", about: name, ["error": .text(error)])
    state.withLock {
      $0.hasStarted = false
      $0.condition.failure = error
      $0.condition.lastError = error
    }
  }

  /// On the log's writer thread: no more than a flag, and a signal when the thread sleeps.
  private func noteProgress() {
    if !hasProgress.exchange(true, ordering: .acquiringAndReleasing) { wake.signal() }
  }

  private func hurry() {
    if !isUrgent.exchange(true, ordering: .acquiringAndReleasing) { wake.signal() }
  }
}

// The thread.
extension ThreadedSink {
  private func run() {
    let worker = makeWorker(SinkWake { [weak self] in self?.hurry() })
    // Steps in a row that left more to do.
    var streak = 0
    while true {
      let now = ContinuousClock.now
      isUrgent.store(false, ordering: .sequentiallyConsistent)
      hasProgress.store(false, ordering: .sequentiallyConsistent)
      let (settles, deadline, isReloaded) = state.withLock { state in
        state.stepSince = now
        defer { state.isReloaded = false }
        return (!state.flushes.isEmpty || state.stopDeadline != nil, state.stopDeadline, state.isReloaded)
      }
      if isReloaded { worker.reloaded() }
      let next = worker.step(now: now, settles: settles)
      publish(worker.condition)
      streak = next == .again ? streak + 1 : 0
      switch next {
      case .again:
        if let deadline, now >= deadline { return end(worker) }
        // As long as it keeps up it leaves others as much of the processor as it takes: a thread that wants to take in a
        // request may have to wait until this one sleeps.
        if !settles, streak < Self.backlogSteps { sleep(from: now, until: .now + (.now - now), minding: false) }
      case .wait(let moment):
        if deadline != nil { return end(worker) }
        sleep(from: now, until: moment)
      case .rest(let moment):
        if deadline != nil { return end(worker) }
        sleep(from: now, until: moment, minding: false)
      case .busy(let moment):
        if let deadline, now >= deadline { return end(worker) }
        sleep(from: now, until: min(moment, deadline ?? moment), minding: false)
      }
    }
  }

  /// Sleeps until the moment, or until somebody is in a hurry, or until events have come and time to gather more has passed.
  ///
  /// - Parameter progress: whether events that come matter.
  private func sleep(
    from began: ContinuousClock.Instant, until moment: ContinuousClock.Instant, minding progress: Bool = true
  ) {
    let gathered = began + Self.gatherInterval
    while !isUrgent.load(ordering: .sequentiallyConsistent) {
      let now = ContinuousClock.now
      let until = progress && hasProgress.load(ordering: .sequentiallyConsistent) ? min(moment, gathered) : moment
      guard now < until else { return }
      _ = wake.wait(timeout: .now() + (until - now).seconds)
    }
  }

  private func publish(_ condition: SinkCondition) {
    let isAsked = state.withLock { state in
      state.condition = condition
      state.stepSince = nil
      return !state.flushes.isEmpty
    }
    guard isAsked else { return }
    let settled = subscription.ledger.settled.total
    let done = state.withLock { state in
      let done = state.flushes.filter { $0.target <= settled }
      state.flushes.removeAll { $0.target <= settled }
      return done
    }
    for flush in done { flush.resume.resume() }
  }

  private func end(_ worker: any SinkWorker) {
    state.withLock { $0.stepSince = .now }
    worker.finish()
    publish(worker.condition)
    let (stopping, flushes) = state.withLock { state in
      state.isStopped = true
      defer { (state.stopping, state.flushes) = ([], []) }
      return (state.stopping, state.flushes)
    }
    for flush in flushes { flush.resume.resume() }
    for waiter in stopping { waiter.resume.resume() }
  }
}

// What others ask of it.
extension ThreadedSink {
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    let before = subscription.ledger
    let target = before.settled.total + before.waiting
    if before.waiting > 0 {
      let id = newID()
      var watchdog: Task<Void, any Error>?
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.hasStarted || state.isStopped || .now >= deadline { return true }
          state.flushes.append(Flush(id: id, target: target, resume: continuation))
          return false
        }
        if isOver { return continuation.resume() }
        hurry()
        // Only now: one that is due at once must find whom to let go.
        watchdog = Task { [weak self] in
          try await Task.sleep(until: deadline, clock: .continuous)
          self?.giveUpFlush(id)
        }
      }
      watchdog?.cancel()
    }
    let flushed = subscription.ledger.settled[.delivered] - before.settled[.delivered]
    return FlushResult(flushed: Int(flushed), pending: subscription.pending.events)
  }

  func reloaded() async {
    state.withLock { $0.isReloaded = true }
    hurry()
  }

  func stop(until deadline: ContinuousClock.Instant) async {
    let id = newID()
    var watchdog: Task<Void, any Error>?
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        state.stopDeadline = min(state.stopDeadline ?? deadline, deadline)
        if !state.hasStarted || state.isStopped { return true }
        state.stopping.append((id, continuation))
        return false
      }
      if isOver { return continuation.resume() }
      hurry()
      // Only now: one that is due at once must find whom to let go.
      watchdog = Task { [weak self] in
        try await Task.sleep(until: deadline + Self.stopGrace, clock: .continuous)
        self?.giveUpStop(id)
      }
    }
    watchdog?.cancel()
  }

  var hasEnded: Bool { state.withLock { !$0.hasStarted || $0.isStopped } }

  private func newID() -> Int {
    state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
  }

  private func giveUpFlush(_ id: Int) {
    let waiter = state.withLock { state in
      state.flushes.firstIndex { $0.id == id }.map { state.flushes.remove(at: $0) }
    }
    waiter?.resume.resume()
  }

  private func giveUpStop(_ id: Int) {
    let waiter = state.withLock { state in
      state.stopping.firstIndex { $0.id == id }.map { state.stopping.remove(at: $0) }
    }
    waiter?.resume.resume()
  }

  var status: DestinationStatus {
    let (condition, isStopped, stepSince) = state.withLock { ($0.condition, $0.isStopped, $0.stepSince) }
    return DestinationStatus(
      name: name, type: type,
      state: isStopped ? .stopped : condition.state ?? (condition.failure == nil ? .running : .failing),
      detail: condition.failure, pending: subscription.pending, retryAt: condition.retryAt,
      lastError: condition.lastError, ledger: subscription.ledger, stuckSince: stepSince)
  }
}
