import Synchronization

/// Whether events are taken in, and how many requests are on their way into the log.
///
/// A relay that is drained takes none in and goes on sending. What was let in before is waited for: a request counts from
/// ``enter()`` to ``leave()``.
public final class IngestGate: Sendable {
  /// Requests under way, times two; odd when the gate is closed.
  private let state = Atomic<Int>(0)

  public init() {}

  public var isClosed: Bool { state.load(ordering: .acquiring) & 1 == 1 }

  /// Requests that were let in and aren't answered yet.
  public var requests: Int { state.load(ordering: .acquiring) >> 1 }

  /// - Returns: false when it was so already.
  @discardableResult
  public func close() -> Bool { state.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue & 1 == 0 }

  /// - Returns: false when it was so already.
  @discardableResult
  public func open() -> Bool { state.bitwiseAnd(~1, ordering: .acquiringAndReleasing).oldValue & 1 == 1 }

  /// Lets a request in; false when the gate is closed.
  func enter() -> Bool {
    let before = state.wrappingAdd(2, ordering: .acquiringAndReleasing).oldValue
    if before & 1 == 0 { return true }
    leave()
    return false
  }

  func leave() { state.wrappingSubtract(2, ordering: .acquiringAndReleasing) }
}
