import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Apps' protocols in the configuration")
  struct ProtocolSettingsTests {
    private let directory = TemporaryDirectory()

    /// (Where they send to nobody listens.)
    private func settings(_ apps: String...) -> RelaySettings {
      var settings = RelaySettings(keys: "listed")
      settings.apps = "apps:\n" + apps.map { "  - { \($0), upstream: { url: \"http://127.0.0.1:1\" } }\n" }.joined()
      return settings
    }

    private let track = Array(
      #"{"event":"n","eventId":"e","anonymousId":"a","properties":{},"context":{},"timestamp":"\#(TestEvent.now)"}"#
        .utf8)
    private let batch = Array(
      #"{"events":[{"uuid":"u","event":"e","distinct_id":"d","properties":{},"context":{},"timestamp":"\#(TestEvent.now)"}],"token":"k1"}"#
        .utf8)

    /// The statuses of one request of each protocol, all with one key.
    private func statuses(_ relay: RelayProcess) async throws -> [Int] {
      [
        try await relay.post(TestEvent.batch([TestEvent(0)]), key: "k1").status,
        try await relay.post(track, to: "/track", key: nil, headers: [("X-API-Key", "k1")]).status,
        try await relay.post(batch, to: "/i/v1/batch", key: nil).status,
      ]
    }

    private func preflight(_ relay: RelayProcess, _ origin: String) async throws -> Int {
      let address = relay.ingest[0]
      return try await onThread {
        try TestConnection(to: address).send(
          "OPTIONS", "/", headers: [("Origin", origin), ("Access-Control-Request-Method", "POST")])
      }.status
    }

    @Test("an app that speaks another one after a reload is served by that alone, from the next request on")
    func changed() async throws {
      let relay = try await RelayProcess(directory, settings("name: a, write_key: k1"))
      #expect(try await statuses(relay) == [200, 404, 404])
      for (name, expected) in [("datalyr", [401, 200, 404]), ("voidhash", [401, 404, 202])] {
        let next = settings("name: a, protocol: \(name), write_key: k1", "name: b, write_key: k2")
        #expect(try await relay.reload(next, in: directory)["applied"] == ["apps"])
        #expect(try await statuses(relay) == expected, "\(name)")
      }
      let all = settings(
        "name: a, write_key: k1", "name: b, protocol: datalyr, write_key: k2",
        "name: c, protocol: voidhash, write_key: k3")
      try await relay.reload(all, in: directory)
      #expect(try await statuses(relay) == [200, 401, 401])
      let refused = try await relay.reload(
        settings("name: a, protocol: other, write_key: k1"), in: directory, status: 422)
      #expect(refused.texts("faults").first?.contains("app-store-operator or datalyr or voidhash") == true)
      #expect(try await statuses(relay) == [200, 401, 401])
      _ = try await relay.stop()
    }

    @Test("the pages that may post are those of the last reload")
    func origins() async throws {
      let app = "name: a, protocol: datalyr, write_key: k1"
      let relay = try await RelayProcess(directory, settings(app))
      #expect(try await preflight(relay, "https://a.example") == 403)
      try await relay.reload(settings("\(app), origins: [HTTPS://A.example:443]"), in: directory)
      #expect(try await preflight(relay, "https://a.example") == 204)
      #expect(try await preflight(relay, "https://b.example") == 403)
      try await relay.reload(settings("\(app), origins: [\"*\"]"), in: directory)
      #expect(try await preflight(relay, "https://b.example") == 204)
      _ = try await relay.stop()
    }
  }
}
