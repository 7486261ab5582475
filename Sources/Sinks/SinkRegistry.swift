import EventLog

/// The sink types there are: a line each.
public enum SinkRegistry {
  public static let types: [any SinkType] = [
    NDJSONSinkType()
  ]

  /// Makes the sink that the settings describe, not started yet.
  public static func make(_ settings: SinkSettings, _ context: SinkContext) throws(SinkFault) -> any Destination {
    guard let type = types.first(where: { $0.name == settings.type }) else {
      throw SinkFault(
        sink: settings.name, key: "type",
        message: "there is no sink type “\(settings.type)”; there are \(types.map(\.name).joined(separator: ", "))")
    }
    return try type.make(settings, context)
  }
}
