import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Where an event is")
  struct WhereTests {
    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream, sinks: String = "") -> RelaySettings {
      var settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1h", hasSink: false)
      settings.grace = "5s"
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%H.ndjson, only: { names: [other] } }
          - { name: audit, type: archive, path: ./archive, rotate: { every: 1s } }
        \(sinks)
        """
      return settings
    }

    private func whereIs(_ id: String) async throws -> (exitCode: Int32, json: JSONValue, errors: String) {
      let result = try await eventRelay("where", id, "--json", "--config", directory.file("relay.yaml"))
      let json = try? JSONValue(parsing: Array(result.output.utf8))
      return (result.exitCode, json ?? .null, result.errors)
    }

    private func state(_ passport: JSONValue, _ destination: String, copy: Int = 0) -> String? {
      let copies = passport["copies"]?.array ?? []
      guard copies.indices.contains(copy) else { return nil }
      return self.destination(copies[copy], destination)?["state"]?.string
    }

    private func destination(_ copy: JSONValue?, _ name: String) -> JSONValue? {
      copy?["destinations"]?.array?.first { $0["name"]?.string == name }
    }

    @Test("is told of one that waits, is delivered, dead-lettered, put back, and sent twice; running and not")
    func states() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream))
      let delivered = TestEvent(1)
      try await relay.accept([TestEvent(0), delivered, TestEvent(2)])
      #expect(try await relay.flush() == 0)
      var found = try await whereIs(delivered.id)
      #expect(found.exitCode == 0, "\(found)")
      #expect(state(found.json, "upstream") == "delivered", "\(found.json)")
      #expect(state(found.json, "raw") == "filtered", "\(found.json)")
      #expect(found.json["copies"]?.array?.count == 1)
      let copy = found.json["copies"]?.array?.first
      #expect(copy?["seq"]?.integer() == 2 && copy?["kind"] == "event", "\(found.json)")
      #expect(copy?["log"]?["segment"]?.string?.hasPrefix("segment-") == true, "\(found.json)")
      #expect(copy?["received_at"]?.string != nil && copy?["clamped"] == false)

      // In any case; an old date is clamped.
      let old = TestEvent(3, at: .distantPast)
      try await relay.accept([old])
      found = try await whereIs(old.id.uppercased())
      #expect(found.exitCode == 0 && found.json["copies"]?.array?.first?["clamped"] == true, "\(found.json)")

      // (Delivered before the key is refused: it must not be the first letter.)
      #expect(try await relay.flush() == 0)
      upstream.behave { _ in .error(401, "invalid_write_key") }
      let buried = TestEvent(4)
      try await relay.accept([buried])
      #expect(try await relay.flush() == 0)
      found = try await whereIs(buried.id)
      #expect(state(found.json, "upstream") == "dead_lettered", "\(found.json)")
      let letter = destination(found.json["copies"]?.array?.first, "upstream")?["dead_letters"]?.array?.first
      #expect(letter?["reason"] == "refused" && letter?["status"]?.integer() == 401, "\(found.json)")
      #expect(letter?["code"] == "invalid_write_key" && letter?["line"]?.integer() == 1, "\(found.json)")
      #expect(destination(found.json["copies"]?.array?.first, "upstream")?["attempts"]?.integer() == 1)

      upstream.behave { _ in .error(503, "server_error") }
      let again = try await eventRelay("dead-letters", "replay", "--config", directory.file("relay.yaml"))
      #expect(again.exitCode == 0, "\(again)")
      found = try await whereIs(buried.id)
      #expect(state(found.json, "upstream") == "waiting", "\(found.json)")
      #expect(found.json["copies"]?.array?.first?["replays"]?.array?.first?["state"] == "waiting", "\(found.json)")

      let waiting = TestEvent(5)
      try await relay.accept([waiting])
      try await relay.accept([waiting])
      try await upstream.refuses(2)
      found = try await whereIs(waiting.id)
      #expect(found.json["copies"]?.array?.count == 2, "\(found.json)")
      #expect(state(found.json, "upstream") == "waiting" && state(found.json, "upstream", copy: 1) == "waiting")

      upstream.behave { _ in .accept() }
      #expect(await upstream.hasTaken([waiting.id, buried.id]))
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      found = try await whereIs(buried.id)
      #expect(found.exitCode == 0 && state(found.json, "upstream") == "delivered", "\(found.json)")
      found = try await whereIs(waiting.id)
      #expect(state(found.json, "upstream", copy: 1) == "delivered", "\(found.json)")
      // Its archive was published at the stop.
      let archived = destination(found.json["copies"]?.array?.first, "audit")?["archive"]
      let file = try #require(archived?["file"]?.string)
      let line = try #require(archived?["line"]?.integer(as: Int.self))
      #expect(file.hasSuffix(".ndjson.gz") && line > 0, "\(found.json)")
      let table = try await eventRelay("where", delivered.id, "--config", directory.file("relay.yaml"))
      #expect(
        table.exitCode == 0 && table.output.contains("upstream") && table.output.contains("delivered"), "\(table)")
      try await expectWell(directory)
    }

    @Test("is told from archives when the log has it no longer, and of a destination that came later")
    func older() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      var relay = try await RelayProcess(directory, settings(upstream))
      let event = TestEvent(1)
      try await relay.accept([event])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      let later = settings(upstream, sinks: "  - { name: late, type: ndjson, path: ./late.ndjson }")
      relay = try await RelayProcess(directory, later)
      var found = try await whereIs(event.id)
      #expect(found.exitCode == 0 && state(found.json, "late") == "never_owed", "\(found.json)")
      #expect(try await relay.stop() == 0)
      // Without the log's segments only archives are left.
      let log = directory.file("data/log")
      for name in try FileManager.default.contentsOfDirectory(atPath: log) where name.hasPrefix("segment-") {
        try FileManager.default.removeItem(atPath: "\(log)/\(name)")
      }
      found = try await whereIs(event.id)
      let copy = found.json["copies"]?.array?.first
      #expect(found.exitCode == 0 && copy?["log"]?.isNull == true, "\(found.json)")
      #expect(copy?["seq"]?.integer() == 1 && state(found.json, "audit") == "delivered", "\(found.json)")
    }

    @Test("says what an id is, and where was looked for one that nobody knows")
    func unknown() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream))
      try await relay.accept([TestEvent(0)])
      let unknown = "0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"
      for isRunning in [true, false] {
        if !isRunning { #expect(try await relay.stop() == 0) }
        let found = try await whereIs(unknown)
        #expect(found.exitCode == 1 && found.json["found"] == false, "\(found)")
        #expect(found.json["looked_at"]?["log"]?["segments"]?.integer() == 1, "\(found.json)")
        #expect(found.json["looked_at"]?["log"]?["oldest_received_at"]?.string != nil, "\(found.json)")
        if isRunning {
          let answer = try await relay.admin("GET", "/events/\(unknown)")
          #expect(answer.status == 404 && answer.json?["code"] == "not_found", "\(answer.text)")
          #expect(try await relay.admin("GET", "/events/a%2Fb%20%C3%A9").json?["event_id"] == "a/b é")
          for wrong in ["", "%2", "%FF", String(repeating: "x", count: 257)] {
            #expect(try await relay.admin("GET", "/events/\(wrong)").status == 400, "\(wrong)")
          }
          #expect(try await relay.admin("GET", "/events/\(unknown)?timeout=2h").status == 400)
          #expect(try await relay.admin("POST", "/events/\(unknown)").status == 405)
        }
      }
      let wrong = try await eventRelay("where", "", "--config", directory.file("relay.yaml"))
      #expect(wrong.exitCode == 2 && wrong.errors.contains("an event's id has 1 to 256 characters"), "\(wrong)")
    }
  }
}
