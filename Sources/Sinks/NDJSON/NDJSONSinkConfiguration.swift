/// What a sink of line files is told.
public struct NDJSONSinkConfiguration: Sendable, Equatable {
  /// The name of the destination, unique among the sinks.
  public var name: String
  /// Absolute, with `%Y %m %d %H %M` for the parts of an event's `received_at` in UTC.
  public var path: String
  /// Bytes after which a file ends; 0: no limit.
  public var rotateSize: Int
  /// How long a file's slot lasts; 0: no slots.
  public var rotateEvery: Duration
  /// How long a file is kept after its time; nil: for ever.
  public var retention: Duration?
  /// The instance's id.
  public var relay: String

  public init(
    name: String, path: String, rotateSize: Int = 256 << 20, rotateEvery: Duration = .seconds(3600),
    retention: Duration? = nil, relay: String
  ) {
    self.name = name
    self.path = path
    self.rotateSize = rotateSize
    self.rotateEvery = rotateEvery
    self.retention = retention
    self.relay = relay
  }
}
