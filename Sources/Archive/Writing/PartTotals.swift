import Clocks

/// What the lines of a file that isn't published yet come to.
struct PartTotals: Sendable, Equatable {
  /// Of the last line; meaningless without any.
  private(set) var lastSequence: UInt64 = 0
  private(set) var receivedFrom = Timestamp(milliseconds: .max)
  private(set) var receivedUntil = Timestamp(milliseconds: .min)
  private(set) var tree = MerkleTree()

  var count: Int { tree.count }

  mutating func add(_ leaf: Digest, sequence: UInt64, receivedAt: Timestamp, _ hasher: MerkleHasher) {
    tree.add(leaf, hasher)
    lastSequence = sequence
    receivedFrom = min(receivedFrom, receivedAt)
    receivedUntil = max(receivedUntil, receivedAt)
  }
}
