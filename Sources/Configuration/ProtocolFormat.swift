/// What this room must know of a protocol to read an app's keys: each protocol brings its own, and nobody lists them here.
public struct ProtocolFormat: Sendable {
  /// What an upstream's limits count.
  public enum LimitUnit: Sendable { case events, requests }

  /// What users write as the app's `protocol`.
  public var name: String
  /// How its vendor calls it, in the middle of a sentence.
  public var title: String
  /// The defaults of `upstream`'s keys. Those of `max_batch_events`, `max_batch_bytes` and `concurrency` are also the most that
  /// they may be.
  public var upstream: RelayConfiguration.Upstream
  public var limitUnit = LimitUnit.events
  /// The upstream limits installs, too: `rate_limit.per_install_per_minute` is a key.
  public var limitsInstalls = false
  /// The upstream replaces the times of events that are too old: `on_expired` is a key.
  public var replacesTimes = false
  /// It has a route to which web pages post: `origins` is a key.
  public var hasBrowserRoute = false
  /// What web pages present in the place of the write key; nil: they present a key.
  public var pageKeyName: String?
  /// What the upstream's keys begin with; empty when nobody knows.
  public var keyPrefixes: [String] = []
  /// The base that a URL means, without what the protocol adds by itself.
  public var base: @Sendable (String) -> String
  /// The paths of its calls, with their slashes.
  public var calls: [String]
  /// Those of other protocols: a URL that ends in one is likely another's.
  public var otherCalls: [String] = []

  public init(
    name: String, title: String, upstream: RelayConfiguration.Upstream, calls: [String],
    base: @escaping @Sendable (String) -> String
  ) {
    self.name = name
    self.title = title
    self.upstream = upstream
    self.calls = calls
    self.base = base
  }
}
