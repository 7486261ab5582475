import Configuration
import Glibc
import Relay
import Sinks

/// The configuration that a command is about.
struct ConfigurationFile: Sendable {
  /// The option that names it.
  static let option = Command.Option(
    "config", "FILE", "the relay's configuration; without it ./relay.yaml, else /etc/event-relay/relay.yaml")

  let path: String
  let environment: [String: String]

  /// The named one, or the first that is there.
  init(_ arguments: Arguments, _ context: CommandContext) throws(CommandFailure) {
    environment = context.environment
    if let named = arguments["config"] {
      path = named
      return
    }
    guard let found = context.configurationFiles.first(where: { access($0, F_OK) == 0 }) else {
      throw .usage(
        "no configuration: there is neither \(context.configurationFiles.joined(separator: " nor ")); "
          + "name one with --config FILE")
    }
    path = found
  }

  /// The configuration with everything it says, or all that is wrong with it.
  func read() -> Result<RelayConfiguration, ConfigurationFaults> {
    ConfigurationLoader.load(
      file: path, environment: environment, sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all)
  }

  /// The configuration with everything it says.
  func load() throws(CommandFailure) -> RelayConfiguration { try Self.unwrap(read()) }

  /// The configuration for a command that only looks for the relay: secrets may be missing from its environment.
  func loadForAsking() throws(CommandFailure) -> RelayConfiguration {
    try Self.unwrap(
      ConfigurationLoader.loadForAsking(
        file: path, environment: environment, sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all))
  }

  /// The file for a relay that reads it again and again.
  var source: ConfigurationSource {
    ConfigurationSource(
      file: path, environment: environment, sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all)
  }

  static func unwrap(
    _ result: Result<RelayConfiguration, ConfigurationFaults>
  ) throws(CommandFailure) -> RelayConfiguration {
    switch result {
    case .success(let configuration): return configuration
    case .failure(let faults):
      var failure = CommandFailure.usage(PrintableText.lines(faults.description))
      failure.isBare = true
      throw failure
    }
  }
}
