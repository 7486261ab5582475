/// What this room must know of a sink type to read its keys: each type brings its own, and nobody lists them here.
public protocol SinkFormat: Sendable {
  /// What users write as the sink's `type`.
  var name: String { get }

  /// Reads the type's own keys of a sink's section; what is wrong becomes a fault there.
  ///
  /// The common keys (`name`, `type`, `only`, `sample`, `max_behind`) are read by the caller, who reports unknown ones as
  /// well.
  func read(_ section: Section) -> any SinkOptions
}

/// What one sink is told besides what all are: a struct of its type's own.
public protocol SinkOptions: Sendable, Equatable {
  /// Where the sink writes to, as `check` shows it; no secret.
  var place: String { get }
  /// The path that no other sink may write to; nil when it writes to no file. For a directory all of it is meant, with
  /// a slash at the end.
  var path: String? { get }
  /// The host that the sink sends to, a name or an address; nil when it sends to none.
  var host: String? { get }
}

extension SinkOptions {
  public var path: String? { nil }
  public var host: String? { nil }

  public func isEqual(to other: any SinkOptions) -> Bool { (other as? Self) == self }
}
