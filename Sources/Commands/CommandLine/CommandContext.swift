import Clocks
import HTTPClient
import Relay
import Observability

/// What commands have around them; tests put their own in its place.
struct CommandContext: Sendable {
  var output: Output
  var environment: [String: String]
  var clock: WallClock = .system
  /// Where a configuration is looked for when none is named.
  var configurationFiles = ["./relay.yaml", "/etc/event-relay/relay.yaml"]
  /// The descriptor that `-` means.
  var standardInput: Int32 = 0
  /// Returns when the process is told to end.
  var waitForStop: @Sendable () async -> Void = { await StopSignals.wait() }
  var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  var relay: RelayPort = .none

  /// Gives a body an HTTP client, and shuts it down afterwards.
  func withClient<Value: Sendable>(
    _ body: @Sendable (any HTTPSending) async -> Value
  ) async -> Value {
    let client = HTTPClientLoop(name: "command", userAgent: "event-relay/\(ProgramVersion.current)", logger: .silent)
    client.start()
    let value = await body(client)
    await client.shutdown()
    return value
  }
}

/// The version that `--version` tells.
enum ProgramVersion {
  static let current = RelayVersion.current
}
