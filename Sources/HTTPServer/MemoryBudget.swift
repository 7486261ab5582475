import Synchronization

/// Bytes that all bodies share.
final class MemoryBudget: Sendable {
  let limit: Int
  private let taken = Atomic<Int>(0)

  init(limit: Int) { self.limit = limit }

  var used: Int { taken.load(ordering: .relaxed) }

  /// Whether so many bytes more could be had; then they are taken.
  func take(_ count: Int) -> Bool {
    if taken.wrappingAdd(count, ordering: .relaxed).newValue <= limit { return true }
    taken.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  func give(_ count: Int) { taken.wrappingSubtract(count, ordering: .relaxed) }
}
