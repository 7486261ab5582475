import EventLog

/// `type: ndjson`: files with a JSON object in each line.
///
/// Keys: `path` (text), `rotate.size` (bytes), `rotate.every` (duration), `retention` (duration; none: for ever).
public struct NDJSONSinkType: SinkType {
  public static let name = "ndjson"

  public init() {}

  public var name: String { Self.name }

  public func check(_ settings: SinkSettings) throws(SinkFault) {
    _ = try NDJSONSink.pattern(of: try Self.configuration(settings, relay: ""))
  }

  public func make(_ settings: SinkSettings, _ context: SinkContext) throws(SinkFault) -> any Destination {
    try NDJSONSink(
      try Self.configuration(settings, relay: context.relay), subscription: context.subscription,
      isDiskLow: context.isDiskLow, clock: context.clock, logger: context.logger)
  }

  private static func configuration(
    _ settings: SinkSettings, relay: String
  ) throws(SinkFault) -> NDJSONSinkConfiguration {
    var configuration = NDJSONSinkConfiguration(
      name: settings.name, path: try settings.text("path"), retention: try settings.duration("retention"), relay: relay)
    if let size = try settings.bytes("rotate.size") { configuration.rotateSize = size }
    if let every = try settings.duration("rotate.every") { configuration.rotateEvery = every }
    return configuration
  }
}
