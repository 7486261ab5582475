import CCrypto

/// Random bytes in small portions, of which each is used once.
struct RandomBytes {
  /// Fills a buffer with bytes nobody can guess; what tests have in its place repeats itself.
  typealias Source = @Sendable (UnsafeMutableRawBufferPointer) -> Void

  static let system: Source = { bytes in
    let isFilled = crypto_random(bytes.baseAddress, bytes.count)
    precondition(isFilled == 1, "the system has no random bytes")
  }

  // Asking the library costs more than the bytes do: a few thousand are fetched at a time.
  private var pool = [UInt8](repeating: 0, count: 4096)
  private var used: Int
  private let source: Source

  init(_ source: @escaping Source = Self.system) {
    self.source = source
    used = pool.count
  }

  /// Hands the next `count` bytes, at most 4096, to a body.
  mutating func take(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    if used + count > pool.count {
      pool.withUnsafeMutableBytes(source)
      used = 0
    }
    pool.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[used..<used + count])) }
    used += count
  }
}
