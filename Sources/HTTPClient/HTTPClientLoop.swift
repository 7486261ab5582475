import CCurl
import Glibc
import Observability
import Synchronization

/// An HTTP client on a thread of its own, where actors can live too.
///
/// One thread waits for sockets, timers and jobs at once. An actor that gives this loop as its executor runs on that thread, so that sending a
/// request and taking its answer cost it no change of threads.
///
/// Nothing that runs here may block: it would hold up every transfer.
public final class HTTPClientLoop: HTTPSending, Sendable {
  /// Nothing is waited for longer than this, so that a computer that slept finds its timers due soon.
  static let waitMax: Duration = .seconds(60)
  /// Jobs run between two looks at the sockets.
  static let jobsRunMax = 256

  let name: String
  let inbox = Mutex(LoopInbox())
  let wakeup: LoopWakeup
  /// The thread that is the loop at this moment; 0 while there is none.
  let thread = Atomic<UInt>(0)
  /// Touched by the loop's thread alone. When one thread follows another, the inbox's lock hands it over.
  nonisolated(unsafe) let core: LoopCore

  /// Makes a client; it does nothing before ``start()``.
  ///
  /// - Parameters:
  ///   - name: the thread's name, at most 15 bytes of it.
  ///   - userAgent: what requests say they come from, `event-relay/<version>`.
  ///   - transfersMax: requests under way at once, and connections; others wait their turn, and their timeouts begin with it.
  ///   - idleConnectionsMax: connections kept open for the next request.
  public init(
    name: String = "http-client", userAgent: String = "event-relay", logger: Logger, transfersMax: Int = 128,
    idleConnectionsMax: Int = 16
  ) {
    self.name = name
    wakeup = LoopWakeup()
    core = LoopCore(
      engine: TransferEngine(
        userAgent: userAgent, logger: logger, transfersMax: max(transfersMax, 1),
        idleConnectionsMax: max(idleConnectionsMax, 1)))
  }

  /// Starts the thread. What was sent before begins now. Does nothing the second time.
  public func start() {
    let starts = inbox.withLock { inbox in
      guard inbox.phase == .notStarted else { return false }
      inbox.phase = .running
      return true
    }
    if starts { startThread() }
  }

  /// Breaks off every transfer and every sleep, closes the connections and ends the thread.
  ///
  /// What is sent afterwards fails at once. Actors that live here go on running: on a thread that is started when they have something to do.
  public nonisolated(nonsending) func shutdown() async {
    await withUnsafeContinuation { continuation in post(.stop(continuation)) }
  }

  /// Whether the caller runs on the loop's thread.
  public var isCurrentThread: Bool { thread.load(ordering: .relaxed) == pthread_self() }

  /// How often a request was sent again, unnoticed, because the connection it went out on had been closed by the other side.
  public var staleConnectionRetries: Int { core.engine.staleConnectionRetries.load(ordering: .relaxed) }
}

extension HTTPClientLoop {
  func startThread() {
    let box = Unmanaged.passRetained(self)
    var made = pthread_t()
    // Not for signals: they are the main thread's. Threads that libcurl starts for names take this over.
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    let failure = pthread_create(
      &made, nil,
      {
        Unmanaged<HTTPClientLoop>.fromOpaque($0!).takeRetainedValue().run(); return nil
      }, box.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    // Without a thread nothing here can go on, and nothing can be said through it either.
    precondition(failure == 0, "can't start the thread \(name): error \(failure); raise the limit of threads")
    pthread_detach(made)
  }

  /// Hands the loop something to do, from any thread.
  func post(_ message: LoopMessage) {
    if isCurrentThread {
      core.handle(message)
      return
    }
    let next = inbox.withLock { $0.take(message) }
    switch next {
    case .nothing: break
    case .wake: wakeup.signal()
    case .startThread: startThread()
    }
  }

  /// The thread.
  private func run() {
    client_thread_set_name(name)
    thread.store(pthread_self(), ordering: .relaxed)
    var isSignalled = false
    while true {
      // What came from other threads first: it has waited longest.
      inbox.withLock { inbox in inbox.empty(into: core) }
      core.handleArrived()
      core.timers.fire(at: .now)
      core.runJobs(on: self, max: Self.jobsRunMax)
      core.engine.perform()
      if core.hasWork { continue }
      if core.isStopping {
        guard let stopped = stopThread() else { continue }
        for continuation in stopped { continuation.resume() }
        return
      }
      guard inbox.withLock({ $0.fallAsleep() }) else { continue }
      let limit = core.timers.next.map { min($0 - .now, Self.waitMax) } ?? Self.waitMax
      isSignalled = core.engine.wait(for: limit, or: wakeup.descriptor)
      inbox.withLock { $0.isAsleep = false }
      if isSignalled { wakeup.clear() }
    }
  }

  /// Ends the loop unless something has come meanwhile; who waited for that.
  private func stopThread() -> [UnsafeContinuation<Void, Never>]? {
    core.engine.close()
    let stopped = core.stopped
    return inbox.withLock { inbox in
      guard inbox.messages.isEmpty else { return nil }
      core.stopped = []
      thread.store(0, ordering: .relaxed)
      inbox.phase = .stopped
      return stopped
    }
  }
}
