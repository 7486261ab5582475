import Testing

@testable import Apps

@Suite("A deny list")
struct DenyListTests {
  /// Few hashes, so that many ids share one.
  private func hash(_ id: String) -> UInt64 { UInt64(id.utf8.count) }

  private func list(_ ids: [String]) -> DenyList { DenyList(ids, hash: hash) }

  @Test("holds the ids that stand on it, byte for byte, and no others")
  func holds() {
    let ids = ["b", "a", "ab", "ba", "ü", "e\u{301}", "a", "x#y", "bb", "aaaa"]
    let list = list(ids)
    #expect(list.count == 9)
    for id in ids { #expect(list.mayHold(hash(id)) && list.holds(id, hash: hash(id)), "\(id)") }
    for id in ["c", "A", "aa", "bc", "", "é", "xy", "aaa", "aaaaa"] {
      #expect(!list.holds(id, hash: hash(id)), "\(id)")
    }
    // Not under another hash.
    #expect(!list.holds("a", hash: 2) && !list.mayHold(77) && !list.holds("a", hash: .max))
  }

  @Test("finds each of many that share one hash")
  func collisions() {
    let ids = (0..<3000).map { "id-\($0)" }
    let list = DenyList(ids.shuffled()) { _ in .max }
    #expect(list.count == 3000)
    #expect(ids.allSatisfy { list.holds($0, hash: .max) })
    #expect(!list.holds("id-3000", hash: .max) && !list.mayHold(1))
  }

  @Test("may be empty")
  func empty() {
    #expect(list([]).isEmpty && !list([]).mayHold(0) && !list([]).holds("", hash: 0))
    #expect(list(["a"]) == list(["a"]) && list(["a"]) != list(["b"]))
  }
}
