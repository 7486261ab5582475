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
