import Synchronization

/// How many files a part of the relay may keep open: a number that may change while it runs.
final class OpenFileShare: Sendable {
  private let number: Atomic<Int>

  init(_ count: Int) { number = Atomic(count) }

  var count: Int { number.load(ordering: .relaxed) }

  func change(to count: Int) { number.store(count, ordering: .relaxed) }
}
