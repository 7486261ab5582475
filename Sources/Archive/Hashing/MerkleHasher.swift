/// The hashes a tree is made of. Not thread-safe.
final class MerkleHasher {
  private let hash = SHA256Stream()

  /// SHA-256 of 0x00, the salt's 16 bytes, the line without its line feed.
  func leaf(salt: UnsafeRawBufferPointer, line: UnsafeRawBufferPointer) -> Digest {
    withUnsafeBytes(of: UInt8(0)) { hash.add($0) }
    hash.add(salt)
    hash.add(line)
    return hash.end()
  }

  /// SHA-256 of 0x01 and the two hashes below.
  func node(_ left: Digest, _ right: Digest) -> Digest {
    withUnsafeBytes(of: UInt8(1)) { hash.add($0) }
    left.withUnsafeBytes { hash.add($0) }
    right.withUnsafeBytes { hash.add($0) }
    return hash.end()
  }

  var empty: Digest { hash.end() }
}
