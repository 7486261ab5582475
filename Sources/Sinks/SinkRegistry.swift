import EventLog

/// The sink types there are: a line each.
public enum SinkRegistry {
  public static let types: [any SinkType] = [
    NDJSONSinkType()
  ]

  /// Looks whether the settings describe a sink that can be made: its type, its keys.
  public static func check(_ settings: SinkSettings) throws(SinkFault) { try type(of: settings).check(settings) }

  /// Makes the sink that the settings describe, not started yet.
  public static func make(_ settings: SinkSettings, _ context: SinkContext) throws(SinkFault) -> any Destination {
    try type(of: settings).make(settings, context)
  }

  private static func type(of settings: SinkSettings) throws(SinkFault) -> any SinkType {
    if let type = types.first(where: { $0.name == settings.type }) { return type }
    throw SinkFault(
      sink: settings.name, key: "type",
      message: "there is no sink type “\(settings.type)”; there are \(types.map(\.name).joined(separator: ", "))")
  }
}
