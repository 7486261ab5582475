import Synchronization

/// Bytes that all bodies share.
final class MemoryBudget: Sendable {
  private let most: Atomic<Int>
  private let taken = Atomic<Int>(0)

  init(limit: Int) { most = Atomic(limit) }

  /// Takes another limit; what is taken stays.
  func setLimit(_ limit: Int) { most.store(limit, ordering: .relaxed) }

  var used: Int { taken.load(ordering: .relaxed) }

  /// Whether so many bytes more could be had; then they are taken.
  func take(_ count: Int) -> Bool {
    if taken.wrappingAdd(count, ordering: .relaxed).newValue <= most.load(ordering: .relaxed) { return true }
    taken.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  func give(_ count: Int) { taken.wrappingSubtract(count, ordering: .relaxed) }
}
