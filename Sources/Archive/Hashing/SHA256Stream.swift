import CCrypto

/// SHA-256 over bytes that come piece by piece.
///
/// Not thread-safe. Allocates only when it is made.
final class SHA256Stream {
  private let hash: OpaquePointer

  init() {
    guard let hash = crypto_hash_new() else { preconditionFailure("libcrypto has no SHA-256") }
    self.hash = hash
  }

  deinit { crypto_hash_free(hash) }

  func add(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    let isAdded = crypto_hash_add(hash, start, bytes.count)
    precondition(isAdded == 1, "libcrypto refused to hash")
  }

  /// The hash of all that was added; what is added next begins another.
  func end() -> Digest {
    Digest { digest in
      let isMade = crypto_hash_end(hash, digest.bindMemory(to: UInt8.self).baseAddress)
      precondition(isMade == 1, "libcrypto refused to hash")
    }
  }

  /// Becomes what another is now.
  func copy(_ other: SHA256Stream) {
    let isCopied = crypto_hash_copy(hash, other.hash)
    precondition(isCopied == 1, "libcrypto refused to hash")
  }

  /// The hash of some bytes by themselves.
  static func digest(_ bytes: UnsafeRawBufferPointer) -> Digest {
    Digest { digest in
      let isMade = crypto_sha256(bytes.baseAddress, bytes.count, digest.bindMemory(to: UInt8.self).baseAddress)
      precondition(isMade == 1, "libcrypto refused to hash")
    }
  }
}

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
