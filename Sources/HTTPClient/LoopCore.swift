import Synchronization

/// The loop's own state: only its thread touches it.
final class LoopCore {
  let engine: TransferEngine
  let timers = LoopTimers()
  /// What came from other threads and isn't handled yet.
  var arrived: [LoopMessage] = []
  /// Who waits for the end.
  var stopped: [UnsafeContinuation<Void, Never>] = []
  private(set) var isStopping = false
  private var jobs: [UnownedJob] = []
  /// The first job that hasn't run.
  private var jobsHead = 0

  init(engine: TransferEngine) { self.engine = engine }

  /// Something can be done without waiting for anything.
  var hasWork: Bool { jobsHead < jobs.count || engine.hasWork }

  func handleArrived() {
    guard !arrived.isEmpty else { return }
    for message in arrived { handle(message) }
    arrived.removeAll(keepingCapacity: true)
  }

  func handle(_ message: LoopMessage) {
    switch message {
    case .job(let job): jobs.append(job)
    case .send(let transfer): engine.start(transfer)
    case .cancel(let transfer): engine.cancel(transfer)
    case .sleep(let timer):
      if isStopping { timer.end(fired: false) } else { timers.add(timer) }
    case .wake(let timer): timers.cancel(timer)
    case .stop(let continuation):
      stopped.append(continuation)
      isStopping = true
      engine.stop()
      timers.cancelAll()
    }
  }

  /// Runs jobs in the order they came, those that come while they run included, but not more than so many.
  func runJobs(on loop: HTTPClientLoop, max: Int) {
    let serial = loop.asUnownedSerialExecutor()
    let task = loop.asUnownedTaskExecutor()
    var left = max
    while jobsHead < jobs.count, left > 0 {
      let job = jobs[jobsHead]
      jobsHead += 1
      left -= 1
      job.runSynchronously(isolatedTo: serial, taskExecutor: task)
    }
    if jobsHead == jobs.count {
      jobs.removeAll(keepingCapacity: true)
      jobsHead = 0
    } else if jobsHead >= 4096 {
      jobs.removeFirst(jobsHead)
      jobsHead = 0
    }
  }
}
