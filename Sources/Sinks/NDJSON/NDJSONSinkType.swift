import EventLog

/// `type: ndjson`: files with a JSON object in each line.
///
/// Keys: `path` (text), `rotate.size` (bytes), `rotate.every` (duration), `retention` (duration; none: for ever).
public struct NDJSONSinkType: SinkType {
  public static let name = "ndjson"

  public init() {}

  public var name: String { Self.name }

  public func make(_ settings: SinkSettings, _ context: SinkContext) throws(SinkFault) -> any Destination {
    var configuration = NDJSONSinkConfiguration(
      name: settings.name, path: try settings.text("path"), retention: try settings.duration("retention"),
      relay: context.relay)
    if let size = try settings.bytes("rotate.size") { configuration.rotateSize = size }
    if let every = try settings.duration("rotate.every") { configuration.rotateEvery = every }
    return try NDJSONSink(
      configuration, subscription: context.subscription, isDiskLow: context.isDiskLow, clock: context.clock,
      logger: context.logger)
  }
}
