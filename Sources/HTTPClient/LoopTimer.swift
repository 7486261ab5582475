import Synchronization

/// One sleep.
///
/// What isn't atomic belongs to the loop's thread from the moment the timer is posted to it; until then, to the task that makes it.
final class LoopTimer: Sendable {
  let deadline: ContinuousClock.Instant
  let isCancelled = Atomic(false)
  nonisolated(unsafe) var continuation: UnsafeContinuation<Bool, Never>?
  /// Where it stands in the heap; -1: nowhere.
  nonisolated(unsafe) var index = -1

  init(deadline: ContinuousClock.Instant) { self.deadline = deadline }

  func end(fired: Bool) {
    continuation?.resume(returning: fired)
    continuation = nil
  }
}

/// The sleeps of a loop, the next one first: a binary heap from which any can be taken out.
final class LoopTimers {
  private var heap: [LoopTimer] = []

  var next: ContinuousClock.Instant? { heap.first?.deadline }
  var count: Int { heap.count }

  func add(_ timer: LoopTimer) {
    guard !timer.isCancelled.load(ordering: .acquiring) else { return timer.end(fired: false) }
    timer.index = heap.count
    heap.append(timer)
    rise(timer.index)
  }

  /// Ends a sleep early. One that hasn't been added yet ends when it is, one that is over isn't touched.
  func cancel(_ timer: LoopTimer) {
    guard timer.index >= 0 else { return }
    remove(at: timer.index)
    timer.end(fired: false)
  }

  func cancelAll() {
    for timer in heap {
      timer.index = -1
      timer.end(fired: false)
    }
    heap.removeAll()
  }

  /// Ends every sleep whose time has come, the earliest first.
  func fire(at now: @autoclosure () -> ContinuousClock.Instant) {
    guard !heap.isEmpty else { return }
    let now = now()
    while let timer = heap.first, timer.deadline <= now {
      remove(at: 0)
      timer.end(fired: true)
    }
  }

  private func remove(at index: Int) {
    heap[index].index = -1
    let last = heap.removeLast()
    guard index < heap.count else { return }
    heap[index] = last
    last.index = index
    rise(index)
    sink(last.index)
  }

  private func rise(_ start: Int) {
    var index = start
    while index > 0, heap[index].deadline < heap[(index - 1) / 2].deadline {
      exchange(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private func sink(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < heap.count && heap[child].deadline < heap[least].deadline {
        least = child
      }
      guard least != index else { return }
      exchange(index, least)
      index = least
    }
  }

  private func exchange(_ one: Int, _ other: Int) {
    heap.swapAt(one, other)
    heap[one].index = one
    heap[other].index = other
  }
}
