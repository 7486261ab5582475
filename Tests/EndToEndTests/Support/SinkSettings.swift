import JSON
import TestSupport

extension RelaySettings {
  static let raw = "{ name: raw, type: ndjson, path: ./events/%Y.ndjson }"
  static let audit = "{ name: audit, type: archive, path: ./archive }"

  /// Settings whose sinks are as given.
  init(_ upstream: ScriptedUpstream, sinks: String, _ further: String = "") {
    self.init(upstream: upstream, hasSink: false, further: "sinks: [\(sinks)]\n\(further)")
  }
}

extension JSONValue {
  /// The strings of the array under a key; none when there is no such array.
  func texts(_ key: String) -> [String] { (self[key]?.array ?? []).compactMap(\.string) }
}

/// The ids of the events that records have, a line each.
func eventIDs(_ lines: [String]) -> [String] {
  lines.compactMap { (try? JSONValue(parsing: $0))?["event"]?["event_id"]?.string }
}

/// The ids of all events in the archive of ``RelaySettings/audit``, by the relay's own reader.
func archivedIDs(_ directory: TemporaryDirectory) async throws -> [String] {
  let cat = try await eventRelay("archive", "cat", directory.file("archive"))
  guard cat.exitCode == 0 else { throw TestFailure(cat.errors) }
  return eventIDs(cat.output.split(separator: "\n").map(String.init))
}
