import Clocks
import Delivery
import Synchronization
import Testing

/// A thread and a clock that do nothing by themselves: jobs run when the test says so, and time passes when it says so.
final class Simulation: DeliveryScheduler {
  private struct Sleeper {
    var id: Int
    var deadline: ContinuousClock.Instant
    var wake: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var jobs: [UnownedJob] = []
    var now = ContinuousClock.now
    var wall = Timestamp(milliseconds: 1_792_756_800_000)
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var nextID = 0
    var arrival: CheckedContinuation<Void, Never>?
    /// A driven call has returned.
    var hasReturned = false
  }

  private let state = Mutex(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { state in
      state.jobs.append(job)
      defer { state.arrival = nil }
      return state.arrival
    }?.resume()
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  var now: ContinuousClock.Instant { state.withLock { $0.now } }
  var wallClock: WallClock { WallClock { self.state.withLock { $0.wall } } }

  /// Sets the wall clock alone.
  func jumpWallClock(by duration: Duration) { state.withLock { $0.wall = $0.wall + duration } }

  nonisolated(nonsending) func sleep(until deadline: ContinuousClock.Instant) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let hasFired = await withTaskExecutorPreference(self) { await nap(id, until: deadline) }
    if !hasFired { throw CancellationError() }
  }

  private func nap(_ id: Int, until deadline: ContinuousClock.Instant) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state -> Bool? in
          if state.cancelled.contains(id) { return false }
          if deadline <= state.now { return true }
          state.sleepers.append(Sleeper(id: id, deadline: deadline, wake: continuation))
          return nil
        }
        if let isOver { continuation.resume(returning: isOver) }
      }
    } onCancel: {
      state.withLock { state in
        state.cancelled.insert(id)
        let at = state.sleepers.firstIndex { $0.id == id }
        return at.map { state.sleepers.remove(at: $0).wake }
      }?.resume(returning: false)
    }
  }

  /// Runs all there is to do at this moment.
  func settle() {
    while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
      job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
  }

  /// Waits until something outside has handed over a job, and runs all there is to do.
  func settleNext() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if !state.jobs.isEmpty || state.hasReturned { return true }
        state.arrival = continuation
        return false
      }
      if isThere { continuation.resume() }
    }
    settle()
  }

  /// Runs what there is to do until it holds, waiting for what comes from other threads.
  func settle(until holds: () -> Bool) async {
    settle()
    while !holds() { await settleNext() }
  }

  /// Runs what there is to do until a call from outside has returned.
  ///
  /// - Parameter meanwhile: what the test does once the call has begun.
  func drive<Value: Sendable>(
    _ call: @escaping @Sendable () async -> Value, meanwhile: () -> Void = {}
  ) async -> Value {
    let box = Box<Value>()
    Task {
      let value = await call()
      box.result.withLock { $0 = value }
      state.withLock { state in
        state.hasReturned = true
        defer { state.arrival = nil }
        return state.arrival
      }?.resume()
    }
    await settleNext()
    meanwhile()
    while true {
      if let value = box.result.withLock({ $0 }), state.withLock({ $0.hasReturned }) {
        state.withLock { $0.hasReturned = false }
        return value
      }
      await settleNext()
    }
  }

  private final class Box<Value: Sendable>: Sendable {
    let result = Mutex<Value?>(nil)
  }

  /// Lets time pass, everything happening at its moment.
  func advance(by duration: Duration) {
    settle()
    let end = now + duration
    while true {
      let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        let due = state.sleepers.indices.filter { state.sleepers[$0].deadline <= end }
        guard let at = due.min(by: { state.sleepers[$0].deadline < state.sleepers[$1].deadline }) else {
          state.wall = state.wall + (end - state.now)
          state.now = end
          return nil
        }
        let sleeper = state.sleepers.remove(at: at)
        if sleeper.deadline > state.now {
          state.wall = state.wall + (sleeper.deadline - state.now)
          state.now = sleeper.deadline
        }
        return sleeper.wake
      }
      guard let next else { return }
      next.resume(returning: true)
      settle()
    }
  }

  /// Lets time pass until it holds; gives up after so much simulated time.
  func advance(atMost limit: Duration = .seconds(86_400), until holds: () -> Bool) {
    settle()
    let end = now + limit
    while !holds() {
      let next = state.withLock { $0.sleepers.map(\.deadline).min() }
      guard let next, next <= end else {
        Issue.record("it never came about")
        return
      }
      advance(by: max(next - now, .zero))
    }
  }

  var sleeping: Int { state.withLock { $0.sleepers.count } }
}
