import Configuration
import JSON

/// What commands need of the relay itself, as closures: room for a test's own, and the one place that knows module Relay.
struct RelayPort: Sendable {
  struct RunOptions: Sendable, Equatable {
    /// Also start the stand-in upstream and send there.
    var standsIn = false
    /// Events accepted for another upstream go to the configured one.
    var adopts = false
  }

  /// Runs the relay until a signal says stop; the process's exit code.
  var run:
    @Sendable (
      _ configuration: RelayConfiguration, _ options: RunOptions, _ environment: [String: String],
      _ source: ConfigurationSource
    ) async -> Int32
  /// What `GET /status` would say, from the files in a data directory in which no relay runs; nil when there are none.
  /// Throws what keeps them from being read.
  var offlineStatus: @Sendable (RelayConfiguration) throws -> JSONValue?
  /// Carries out, in a data directory in which no relay runs, what a running one would at one of its admin listener's paths
  /// about past events; the closure gets the replays' statuses now and then and stops them by false. Nil when there is no
  /// such directory. Throws what is in the way.
  var offlineReplay:
    @Sendable (
      _ configuration: RelayConfiguration, _ path: String, _ body: JSONValue,
      _ goesOn: @escaping @Sendable (JSONValue) -> Bool
    ) throws -> JSONValue?
  /// What waits in the data directory and doesn't fit the configuration, a sentence each: for an app that was removed,
  /// for another upstream, of another instance.
  var misfits: @Sendable (RelayConfiguration) -> [String]
  /// Looks the relay over, whether it runs or not: the report as `doctor --json` prints it. Blocks.
  var doctor:
    @Sendable (
      _ configuration: RelayConfiguration, _ faults: [String], _ isDeep: Bool,
      _ status: @escaping @Sendable () -> JSONValue?
    ) -> JSONValue = { _, _, _, _ in ["ok": true, "checks": []] }
  /// One event's story as `GET /events/ID` would tell it, from the files in a data directory in which no relay runs; nil
  /// when there are none. Throws what keeps them from being read.
  var offlinePassport:
    @Sendable (_ configuration: RelayConfiguration, _ id: String, _ timeout: Duration) throws -> JSONValue? =
      { _, _, _ in nil }
  /// Where a relay that runs in this data directory says that its admin listener is, `127.0.0.1:40123`.
  var adminAddress: @Sendable (_ dataDirectory: String) -> String?
  /// The public key that it says its admin listener shows; nil when it speaks plain HTTP.
  var adminKey: @Sendable (_ dataDirectory: String) -> String? = { _ in nil }
  /// What the library that speaks TLS can't use of what the configuration names, a sentence each.
  var tlsFaults: @Sendable (RelayConfiguration) -> [String] = { _ in [] }

  /// No relay at all.
  static let none = RelayPort(
    run: { _, _, _, _ in 1 }, offlineStatus: { _ in nil }, offlineReplay: { _, _, _, _ in nil }, misfits: { _ in [] },
    adminAddress: { _ in nil })
}
