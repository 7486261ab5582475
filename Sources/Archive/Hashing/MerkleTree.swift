/// The root of a Merkle tree over leaves that come one after the other, by the rule of RFC 9162, section 2.1.1: a tree of
/// n leaves is split at the largest power of two below n.
///
/// Keeps a hash for each bit that is set in the number of leaves, and no more. A value: copies go their own way.
struct MerkleTree: Sendable, Equatable {
  private(set) var count = 0
  /// The roots of the whole trees so far, the largest first: their sizes are the bits of `count`.
  private var roots: [Digest] = []

  mutating func add(_ leaf: Digest, _ hasher: MerkleHasher) {
    var node = leaf
    var rest = count
    while rest & 1 == 1 {
      node = hasher.node(roots.removeLast(), node)
      rest >>= 1
    }
    roots.append(node)
    count += 1
  }

  /// The root of all leaves so far; the hash of nothing without any.
  func root(_ hasher: MerkleHasher) -> Digest {
    guard var root = roots.last else { return hasher.empty }
    for left in roots.dropLast().reversed() { root = hasher.node(left, root) }
    return root
  }
}
