/// Moments at which something must be looked at again, the earliest first.
///
/// What no longer holds isn't taken out: whoever takes an entry checks whether it still stands.
struct DeadlineQueue<Subject> {
  struct Entry {
    var deadline: ContinuousClock.Instant
    var subject: Subject
  }

  private var heap: [Entry] = []

  var earliest: ContinuousClock.Instant? { heap.first?.deadline }
  var count: Int { heap.count }

  mutating func add(_ deadline: ContinuousClock.Instant, _ subject: Subject) {
    heap.append(Entry(deadline: deadline, subject: subject))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].deadline < heap[parent].deadline else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes out the earliest entry that is due.
  mutating func take(dueAt now: ContinuousClock.Instant) -> Entry? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].deadline < heap[least].deadline { least = child }
      }
      guard least != parent else { return first }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
