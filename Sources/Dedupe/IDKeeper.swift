import CPlatform
import Clocks
import Dispatch
import EventLog
import Glibc
import Observability
import Synchronization
import Threads

/// Keeps the memory of ids over restarts, on a thread of its own, and forgets the ids of events that went to the dead letters.
public final class IDKeeper: Sendable {
  /// The name of its place in the log; no sink may have it.
  public static let destination = "dedupe"
  /// What comes in meanwhile is recorded together, so many looks long ...
  static let looks = 10
  static let lookInterval: DispatchTimeInterval = .milliseconds(100)
  /// ... or until so much of the log waits for it, which must go on being written over.
  static let behindEnough = 16 << 20
  static let retryInterval: DispatchTimeInterval = .seconds(5)
  /// How long after its deadline ``stop(until:)`` still waits.
  static let stopGrace: Duration = .seconds(2)

  private let deduplication: Deduplication
  private let journal: SharedJournal
  private let subscription: any Subscription
  private let clock: WallClock
  private let logger: Logger
  /// Signalled when events came, and when all is to end.
  private let wake = DispatchSemaphore(value: 0)
  private let stopping = DispatchSemaphore(value: 0)
  private let isStopped = Atomic(false)
  private let hasProgress = Atomic(false)
  private let own: Mutex<Own>

  /// `@unchecked`: the recorder is handed over to the thread, once.
  private struct Own: @unchecked Sendable {
    var recorder: IDRecorder?
    var isRunning = false
    /// Who waits for the thread's end.
    var waiter: CheckedContinuation<Void, Never>?
  }

  /// Takes up what is remembered: from the journal, and from the log where that ends. To be called before events are taken in.
  ///
  /// - Parameters:
  ///   - directory: of the journal's files.
  ///   - behindMax: bytes of the log that may be held while the journal can't be written.
  /// - Throws: ``LogError`` when the journal can't be read, or a newer program wrote it.
  public static func open(
    _ deduplication: Deduplication, maxIDs: Int, log: any DurableLog, directory: String, behindMax: Int,
    disk: any Disk = RealDisk(), clock: WallClock = .system, logger: Logger
  ) throws(LogError) -> IDKeeper {
    let (recorder, journal, subscription) = try restore(
      deduplication, maxIDs: maxIDs, log: log, directory: directory, behindMax: behindMax, disk: disk, clock: clock,
      logger: logger)
    return IDKeeper(deduplication, journal, recorder, subscription, clock, logger)
  }

  /// As ``open(_:maxIDs:log:directory:behindMax:disk:clock:logger:)``, without a thread to go on with.
  static func restore(
    _ deduplication: Deduplication, maxIDs: Int, log: any DurableLog, directory: String, behindMax: Int,
    disk: any Disk, clock: WallClock, logger: Logger
  ) throws(LogError) -> (recorder: IDRecorder, journal: SharedJournal, subscription: any Subscription) {
    let subscription = try log.subscribe(destination, origin: .newest)
    let window = Duration.milliseconds(deduplication.window)
    let journal = SharedJournal(
      directory: directory, plan: JournalPlan(window: window, maxIDs: maxIDs), disk: disk, clock: clock, logger: logger)
    let now = clock.now
    var forgotten: [IDRecord] = []
    var known = 0
    func restore(_ record: IDRecord) {
      // A record from the future was made by a clock that was wrong: it counts as new, since forgetting it would be worse.
      let age = max(.zero, now - record.at)
      guard age < window else { return }
      deduplication.restore(record.key, body: record.body, sequence: record.sequence, age: age.milliseconds)
      known += 1
    }
    try journal.load { record in
      switch record.kind {
      case .stored: restore(record)
      case .forgotten: forgotten.append(record)
      }
    }
    for record in forgotten { _ = deduplication.forget(record.key, sequence: record.sequence) }
    // What was forgotten before it was recorded must not come back when the log is read again.
    let gone = Set(forgotten.map(\.sequence))
    let recorder = IDRecorder(
      subscription: subscription, journal: journal, deduplication: deduplication, behindMax: behindMax, clock: clock,
      logger: logger)
    try recorder.replay { record in
      if !gone.contains(record.sequence) { restore(record) }
    }
    logger.info("event ids are remembered", ["ids": .integer(known)])
    return (recorder, journal, subscription)
  }

  private init(
    _ deduplication: Deduplication, _ journal: SharedJournal, _ recorder: sending IDRecorder,
    _ subscription: any Subscription, _ clock: WallClock, _ logger: Logger
  ) {
    self.deduplication = deduplication
    self.journal = journal
    self.subscription = subscription
    self.clock = clock
    self.logger = logger
    own = Mutex(Own(recorder: recorder))
    subscription.onProgress { [weak self] in self?.noteProgress() }
  }

  /// On the log's writer thread: no more than a flag, and a signal when the thread sleeps.
  private func noteProgress() {
    if !hasProgress.exchange(true, ordering: .acquiringAndReleasing) { wake.signal() }
  }
}

// The thread.
extension IDKeeper {
  /// Begins to record. Called once.
  public func start() {
    own.withLock { $0.isRunning = true }
    let code = DetachedThread.start(name: "dedupe") { self.run() }
    guard code != 0 else { return }
    own.withLock { $0.isRunning = false }
    logger.error(
      "event ids can't be recorded: no thread can be started", ["why": .text(String(cString: strerror(code)))])
  }

  /// Records what is there and ends; a disk that hangs is waited for until a moment after the deadline.
  public func stop(until deadline: ContinuousClock.Instant) async {
    isStopped.store(true, ordering: .releasing)
    wake.signal()
    stopping.signal()
    var watchdog: Task<Void, any Error>?
    await withCheckedContinuation { continuation in
      let isOver = own.withLock { own in
        if own.isRunning { own.waiter = continuation }
        return !own.isRunning
      }
      if isOver { return continuation.resume() }
      // Only now: one that is due at once must find whom to let go.
      watchdog = Task { [weak self] in
        try await Task.sleep(until: deadline + Self.stopGrace, clock: .continuous)
        self?.letGo()
      }
    }
    watchdog?.cancel()
  }

  private func letGo() {
    let waiter = own.withLock { $0.waiter.take() }
    waiter?.resume()
  }

  private func run() {
    defer {
      own.withLock { $0.isRunning = false }
      letGo()
    }
    guard let recorder = own.withLock({ $0.recorder.take() }) else { return }
    var isWell = recorder.catchUp()
    var told: (evicted: UInt64, at: ContinuousClock.Instant)?
    while !isStopped.load(ordering: .acquiring) {
      if isWell {
        wake.wait()
        gather()
      } else {
        _ = stopping.wait(timeout: .now() + Self.retryInterval)
      }
      hasProgress.store(false, ordering: .sequentiallyConsistent)
      isWell = recorder.catchUp()
      tellEvictions(&told)
    }
  }

  /// Lets more come in, so that it is recorded together.
  private func gather() {
    for _ in 0..<Self.looks {
      guard stopping.wait(timeout: .now() + Self.lookInterval) == .timedOut, !isStopped.load(ordering: .acquiring),
        subscription.behindBytes(.all) < Self.behindEnough
      else { return }
    }
  }

  /// Says, once an hour at most, that there are more ids than may be remembered.
  private func tellEvictions(_ told: inout (evicted: UInt64, at: ContinuousClock.Instant)?) {
    let evicted = deduplication.counts.evicted
    guard evicted > told?.evicted ?? 0, .now - (told?.at ?? .now - .seconds(3600)) >= .seconds(3600) else { return }
    told = (evicted, .now)
    logger.warning(
      "event ids are forgotten before their time: more than ingest.dedupe.max_ids come in within the window",
      ["forgotten": .integer(Int(clamping: evicted))])
  }
}

// What others tell it.
extension IDKeeper {
  /// Remembers for another while from now on. What a shorter one has forgotten stays so.
  public func change(window: Duration) {
    deduplication.change(window: window)
    journal.change(window: window)
  }

  /// Forgets events that went to the dead letters, so that their ids count again. Durably, before it returns, where the disk
  /// lets it: to be called before they are acknowledged.
  public func forget(app: String, _ events: some Sequence<StoredEvent>) {
    let app = EventKey.hash(ofApp: app)
    let now = clock.now
    var records: [IDRecord] = []
    for event in events where event.kind == .event {
      let key = EventKey(app: app, idHigh: event.index.idHigh, idLow: event.index.idLow)
      guard deduplication.forget(key, sequence: event.sequence) else { continue }
      records.append(IDRecord(.forgotten, key, sequence: event.sequence, body: 0, at: max(now, event.receivedAt)))
    }
    guard !records.isEmpty else { return }
    do {
      try journal.writeSooner(records)
    } catch {
      logger.warning(
        "that events went to the dead letters can't be noted now: a restart would take a corrected resend for a duplicate",
        ["events": .integer(records.count), "why": .text(error.description)])
    }
  }

  /// Removes all that is remembered over restarts: for a relay that doesn't remember any more.
  public static func remove(from log: any DurableLog, directory: String, disk: any Disk = RealDisk()) throws(LogError) {
    if log.knownDestinations.contains(destination) {
      try log.subscribe(destination, origin: .newest).discard()
    }
    do throws(DiskError) {
      for name in try disk.list(directory) where JournalFile.number(ofName: name) != nil {
        try disk.unlink("\(directory)/\(name)")
      }
    } catch {
      if !error.isMissing { throw LogError(error.description) }
    }
  }
}
