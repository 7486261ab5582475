import Glibc

/// A body as it comes in: one piece of memory that grows with the bytes that are really there.
///
/// Unchecked because it is handed over, never shared: the listener's thread fills it, and then leaves it alone until
/// the request it belongs to has been answered.
final class BodyBuffer: @unchecked Sendable {
  /// Bytes that can be read past the body's end.
  static let padding = 64
  /// Bytes that are kept for a connection's next request.
  static let keptMax = 64 * 1024
  /// Bytes that a `Content-Length` alone gets.
  static let trustedMax = 64 * 1024

  private var base: UnsafeMutableRawPointer?
  private(set) var capacity = 0
  private(set) var count = 0
  private let budget: MemoryBudget

  init(budget: MemoryBudget) { self.budget = budget }

  deinit { release() }

  /// The body; what follows it for ``padding`` bytes is zero.
  var content: UnsafeRawBufferPointer {
    guard let base else { return Self.empty }
    return UnsafeRawBufferPointer(start: base, count: count)
  }

  /// A body of no bytes, with padding; never written to and never freed.
  nonisolated(unsafe) static let empty = UnsafeRawBufferPointer(start: calloc(1, padding), count: 0)

  /// Room behind the body.
  var free: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: base.map { $0 + count }, count: capacity - count)
  }

  func removeAll() { count = 0 }

  /// Gives its memory back.
  func release() {
    guard let base else { return }
    Glibc.free(base)
    budget.give(capacity)
    self.base = nil
    capacity = 0
    count = 0
  }

  /// Makes room for a body of so many bytes; false when there is no memory for it.
  func reserve(_ total: Int, limit: Int) -> Bool {
    guard total > capacity else { return true }
    let wanted = Self.capacity(for: total, limit: limit)
    guard budget.take(wanted - capacity) else { return false }
    guard let grown = realloc(base, wanted + Self.padding) else {
      budget.give(wanted - capacity)
      return false
    }
    base = grown
    capacity = wanted
    return true
  }

  /// Appends bytes for which there is room.
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, let base else { return }
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Says that so many bytes were written to ``free``.
  func advance(_ written: Int) { count += written }

  /// Zeroes what follows the body.
  func pad() {
    if let base { memset(base + count, 0, Self.padding) }
  }

  /// What is allocated for so many bytes: a few sizes, each a multiple of the last, so that a connection's requests
  /// find their buffer large enough.
  static func capacity(for total: Int, limit: Int) -> Int {
    var size = 4096
    while size < total { size *= size < 65536 ? 4 : 2 }
    return max(total, min(size, limit))
  }
}
