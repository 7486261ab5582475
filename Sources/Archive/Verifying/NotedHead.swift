/// Where a hash that was noted elsewhere stands in the manifest.
public struct NotedHead: Sendable, Equatable {
  public var hash: Digest
  /// The line that has it; nil when none does.
  public var entry: Int?
}
