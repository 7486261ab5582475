import Sinks
import TestSupport

@testable import Configuration

/// What `/etc/er/relay.yaml` with this text says.
func parse(_ text: String, environment: [String: String] = [:]) -> Result<RelayConfiguration, ConfigurationFaults> {
  ConfigurationLoader.parse(
    Array(text.utf8), file: "/etc/er/relay.yaml", environment: environment, sinkTypes: SinkRegistry.types,
    protocols: TestProtocols.all
  ).result
}

/// The faults of a text, one a line, without the file's name: `3: upstream.linger: …`.
func faults(_ text: String, environment: [String: String] = [:]) -> [String] {
  guard case .failure(let faults) = parse(text, environment: environment) else {
    return []
  }
  return faults.all.map(withoutFile)
}

func warnings(_ text: String) throws -> [String] { try parse(text).get().warnings.map(withoutFile) }

private func withoutFile(_ fault: ConfigurationFault) -> String {
  let text = fault.description
  precondition(text.hasPrefix("/etc/er/relay.yaml:"))
  return String(text.dropFirst("/etc/er/relay.yaml:".count)).trimmingSpaces.description
}
