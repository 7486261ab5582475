import Configuration
import EventLog

/// The sink types there are: a line each.
public enum SinkRegistry {
  public static let types: [any SinkType] = [
    NDJSONSinkType(),
    ArchiveSinkType(),
    WebhookSinkType(),
  ]

  /// Makes a configured sink, not started yet.
  ///
  /// - Precondition: its configuration was read with ``types``.
  public static func make(_ sink: RelayConfiguration.Sink, _ context: SinkContext) -> any Destination {
    guard let type = types.first(where: { $0.name == sink.type }) else {
      preconditionFailure("a sink of type \(sink.type), which nobody registered")
    }
    return make(type, sink.options, context)
  }

  private static func make<Type: SinkType>(
    _ type: Type, _ options: any SinkOptions, _ context: SinkContext
  ) -> any Destination {
    guard let options = options as? Type.Options else { preconditionFailure("options of another type's sink") }
    return type.make(options, context)
  }
}
