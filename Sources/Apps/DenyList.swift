/// The persons whose events are not kept: ids as senders send them.
public struct DenyList: Sendable, Equatable {
  /// By the hash that events carry of a person's id: most events are told apart by it alone.
  private let ids: [UInt64: [String]]
  public let count: Int

  /// - Parameter hash: of an id's bytes, as events carry it.
  public init(_ ids: some Sequence<String>, hash: (String) -> UInt64) {
    let all = Set(ids)
    count = all.count
    self.ids = Dictionary(grouping: all, by: hash)
  }

  public var isEmpty: Bool { ids.isEmpty }

  /// Whether somebody may be on the list whose id has this hash: then the id itself tells.
  public func mayHold(_ hash: UInt64) -> Bool { ids[hash] != nil }

  public func holds(_ id: String, hash: UInt64) -> Bool { ids[hash]?.contains(id) ?? false }
}
