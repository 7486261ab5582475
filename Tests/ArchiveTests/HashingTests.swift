import TestSupport
import Testing

@testable import Archive

@Suite struct HashingTests {
  private let hasher = MerkleHasher()

  private func leaf(_ text: String) -> Digest {
    let salt = [UInt8](repeating: 7, count: 16)
    return salt.withUnsafeBytes { salt in
      Array(text.utf8).withUnsafeBytes { hasher.leaf(salt: salt, line: $0) }
    }
  }

  /// The root as RFC 9162 defines it, by recursion.
  private func root(_ leaves: ArraySlice<Digest>) -> Digest {
    guard leaves.count > 1 else { return leaves.first ?? hasher.empty }
    var half = 1
    while half * 2 < leaves.count { half *= 2 }
    let middle = leaves.startIndex + half
    return hasher.node(root(leaves[..<middle]), root(leaves[middle...]))
  }

  @Test func `A tree that grows leaf by leaf has the root that recursion finds`() {
    var tree = MerkleTree()
    var leaves: [Digest] = []
    for number in 0..<200 {
      #expect(tree.root(hasher) == root(leaves[...]), "\(number) leaves")
      let leaf = leaf("line \(number)")
      leaves.append(leaf)
      tree.add(leaf, hasher)
    }
  }

  @Test func `The hash of nothing is SHA-256's`() {
    #expect(MerkleTree().root(hasher).description == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test func `A hash that was copied goes on by itself`() {
    let (one, other) = (SHA256Stream(), SHA256Stream())
    Array("abc".utf8).withUnsafeBytes { one.add($0) }
    other.copy(one)
    Array("d".utf8).withUnsafeBytes { other.add($0) }
    #expect(one.end().description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(other.end() == Array("abcd".utf8).withUnsafeBytes { SHA256Stream.digest($0) })
  }

  @Test func `A hash is read back from its text, and from nothing else`() {
    let digest = leaf("x")
    #expect(Digest(digest.description) == digest)
    #expect(Digest("") == nil && Digest(String(repeating: "g", count: 64)) == nil)
    #expect(Digest(digest.description.uppercased()) == nil)
  }
}
