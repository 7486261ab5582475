/// Moments at which something must be looked at again, the earliest first.
///
/// What no longer holds isn't taken out at once: whoever takes an entry checks whether it still stands, and whoever adds
/// many lets go of the others now and then with ``keep(where:)``.
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
    rise(heap.count - 1)
  }

  /// Keeps those entries for which it holds.
  mutating func keep(where holds: (Entry) -> Bool) {
    heap.removeAll { !holds($0) }
    for at in heap.indices { rise(at) }
  }

  private mutating func rise(_ start: Int) {
    var child = start
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

extension DeadlineQueue: Sendable where Subject: Sendable {}
extension DeadlineQueue.Entry: Sendable where Subject: Sendable {}
