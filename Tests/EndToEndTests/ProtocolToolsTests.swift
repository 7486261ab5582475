import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The tools with every protocol")
  struct ProtocolToolsTests {
    private let directory = TemporaryDirectory()
    private let now = TestEvent.now
    private let uuid = "0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"

    /// (Where they send to nobody listens.)
    private func settings(web: String = "datalyr", url: String = "http://127.0.0.1:1") -> RelaySettings {
      var settings = RelaySettings(
        keys: "listed", log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1h", hasSink: false)
      settings.apps = """
        apps:
          - { name: ios, write_key: aso_wk_test }
          - { name: web, protocol: \(web), write_key: dk_1, accept_keys: [ws_1], upstream: { url: "\(url)" } }
          - { name: game, protocol: voidhash, write_key: vh_pk_1, upstream: { url: "\(url)" } }
        """
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%H.ndjson }
          - { name: audit, type: archive, path: ./archive, rotate: { every: 1s } }
        """
      return settings
    }

    private func track(_ id: String) -> String {
      #"{"event":"opened","eventId":\#(JSONValue.string(id)),"anonymousId":"anon_1","timestamp":"\#(now)","#
        + #""properties":{"n":9007199254740993},"context":{}}"#
    }

    private func voidhash(_ id: String) -> String {
      #"{"uuid":\#(JSONValue.string(id)),"event":"opened","distinct_id":"vh:anon:1","properties":{},"context":{},"#
        + #""timestamp":"\#(now)"}"#
    }

    private func web(_ id: String) -> String {
      #"{"event_id":"\#(id)","event_name":"purchase","anonymous_id":"anon_1","workspace_id":"ws_1","#
        + #""timestamp":"\#(now)","event_data":{"i":1}}"#
    }

    private func send(_ name: String, _ key: String?, _ input: [String], to address: TestAddress) async throws {
      let words = ["send", "--protocol", name, "--to", "http://\(address.authority)"]
      let sent = try await eventRelay(
        words + (key.map { ["--key", $0] } ?? []) + ["-"],
        input: directory.write("input.ndjson", input.joined(separator: "\n")))
      #expect(sent.exitCode == 0 && sent.output.hasPrefix("accepted  \(input.count)\n"), "\(sent)")
    }

    private func copies(_ id: String) async throws -> [JSONValue] {
      let found = try await eventRelay("where", "--json", "--config", directory.file("relay.yaml"), "--", id)
      let copies = (try? JSONValue(parsing: Array(found.output.utf8)))?["copies"]?.array ?? []
      #expect(found.exitCode == (copies.isEmpty ? 1 : 0), "\(found)")
      return copies
    }

    private func file(of copy: JSONValue, _ sink: String) -> String? {
      copy["destinations"]?.array?.first { $0["name"]?.string == sink }?["archive"]?["file"]?.string
    }

    @Test("where finds ids of any text, each protocol's, in the log and in archives, running and not")
    func whereIs() async throws {
      let relay = try await RelayProcess(directory, settings())
      let odd = "order/1 é?\"%"
      try await send("datalyr", "dk_1", [track(odd), track("-x"), track(uuid.uppercased())], to: relay.ingest[0])
      try await send("datalyr", nil, [web("web-1")], to: relay.ingest[0])
      try await send("voidhash", "vh_pk_1", [voidhash("U-1"), voidhash("-x")], to: relay.ingest[0])
      let expected = [
        (odd, ["datalyr"]), (uuid, ["datalyr"]), ("web-1", ["datalyr"]), ("U-1", ["voidhash"]), ("u-1", []),
        ("order/1 e\u{301}?\"%", []), ("-x", ["datalyr", "voidhash"]), (String(repeating: "x", count: 256), []),
      ]
      for isRunning in [true, false] {
        if !isRunning { #expect(try await relay.stop() == 0) }
        for (id, protocols) in expected {
          let found = try await copies(id)
          #expect(found.compactMap { $0["protocol"]?.string }.sorted() == protocols, "\(id)")
          #expect(found.allSatisfy { $0["log"]?["segment"]?.string != nil })
          // The archive was published at the stop.
          if !isRunning { #expect(found.allSatisfy { file(of: $0, "audit")?.hasSuffix(".ndjson.gz") == true }) }
        }
      }
      let table = try await eventRelay("where", odd, "--config", directory.file("relay.yaml"))
      #expect(table.output.contains("event of app web (datalyr), received at"), "\(table)")
      let log = directory.file("data/log")
      for name in try FileManager.default.contentsOfDirectory(atPath: log) where name.hasPrefix("segment-") {
        try FileManager.default.removeItem(atPath: "\(log)/\(name)")
      }
      for (id, protocols) in expected {
        let found = try await copies(id)
        #expect(found.compactMap { $0["protocol"]?.string }.sorted() == protocols, "\(id)")
        #expect(found.allSatisfy { $0["log"]?.isNull == true && file(of: $0, "audit") != nil })
      }
    }

    private func json(_ path: String, of address: TestAddress) async throws -> JSONValue {
      try await onThread { try TestConnection(to: address).send("GET", path) }.json ?? .null
    }

    /// Sends events by each protocol to a stand-in of all, twice: the second time it knows them.
    private func exercise(_ standIn: TestAddress) async throws {
      let event = TestEvent(1)
      for _ in 0..<2 {
        try await send("datalyr", "dk_1", [track("order-1"), track("order-2")], to: standIn)
        try await send("datalyr", nil, [web("web-1")], to: standIn)
        try await send("voidhash", "vh_pk_1", [voidhash("U-1")], to: standIn)
        try await send("app-store-operator", "aso_wk_test", [String(decoding: event.bytes, as: UTF8.self)], to: standIn)
      }
      let stored = try await json("/events", of: standIn)["events"]?.array ?? []
      #expect(
        stored.compactMap { $0["protocol"]?.string }.sorted()
          == ["app-store-operator", "datalyr", "datalyr", "datalyr", "voidhash"])
      let stats = try await json("/stats", of: standIn)
      for (name, events) in [("app-store-operator", 1), ("datalyr", 3), ("voidhash", 1)] {
        let counts = stats["protocols"]?[name]?["events"]
        #expect(
          counts?["stored"]?.integer() == events && counts?["duplicates"]?.integer() == events, "\(name) \(stats)")
      }
    }

    @Test("a stand-in of all takes each one's events, alone and within a relay")
    func standIns() async throws {
      let alone = try ChildProcess(["upstream", "--protocol", "all", "--listen", "127.0.0.1:0"])
      let line = try #require(await alone.waitForLine("127.0.0.1:"), "\(alone.errorText)")
      try await exercise(try TestAddress(String(line[line.range(of: "127.0.0.1:")!.lowerBound...])))
      alone.kill(15)
      #expect(await alone.wait() == 0)
      let relay = try await RelayProcess(directory, settings(), "--stand-in")
      try await exercise(try #require(relay.standIn))
      #expect(try await relay.stop() == 0)
    }

    @Test("validate tells what each one's server would say")
    func validate() async throws {
      let track = track("order-1")
      for (name, text, code, said) in [
        ("datalyr", track, 0, #""accepted":1"#), ("datalyr", "{}", 1, #""success":false"#),
        ("voidhash", voidhash("U-1"), 0, #""accepted":1"#), ("voidhash", track, 1, #""code":"invalid_request""#),
        ("app-store-operator", track, 1, #""code":"invalid_name""#),
      ] as [(String, String, Int32, String)] {
        let ran = try await eventRelay(
          "validate", "--protocol", name, "-", input: directory.write("input.ndjson", text))
        #expect(ran.exitCode == code && ran.output.contains(said), "\(ran)")
      }
    }

    @Test("a replay writes their lines again, and is refused to an upstream of another protocol")
    func replays() async throws {
      let relay = try await RelayProcess(directory, settings())
      try await send("datalyr", "dk_1", [track("order-1")], to: relay.ingest[0])
      try await send("datalyr", nil, [web("web-1")], to: relay.ingest[0])
      try await relay.accept([TestEvent(1)])
      #expect(try await relay.stop() == 0)
      let config = directory.file("relay.yaml")
      // (Nothing is owed to the sink any more, and the queue is sent at the next start.)
      let again = try await eventRelay("replay", "--to", "raw", "--from-log", "--app", "web", "--config", config)
      #expect(again.exitCode == 0, "\(again)")
      let next = try await RelayProcess(directory, settings())
      #expect(try await next.stop() == 0)
      let lines = try FileManager.default.contentsOfDirectory(atPath: directory.file("raw")).sorted()
        .flatMap { readLines(directory.file("raw/\($0)")) }
      #expect(lines.count { $0.contains(#""protocol":"datalyr""#) && $0.contains(track("order-1")) } == 2)
      #expect(lines.count { $0.contains(#""protocol":"datalyr""#) && $0.contains(web("web-1")) } == 2)
      #expect(lines.count == 5)

      // Another relay, whose app of the name speaks another protocol.
      let other = TemporaryDirectory()
      let file = settings(web: "voidhash").write(in: other)
      let first = try await RelayProcess(other, settings(web: "voidhash"))
      #expect(try await first.stop() == 0)
      for words in [["--dry-run"], []] {
        let refused = try await eventRelay(
          ["replay", "--to", "upstream", "--from-archive", directory.file("archive"), "--config", file] + words)
        #expect(refused.exitCode == 1, "\(refused)")
        #expect(
          refused.errors.contains("events of app web came by datalyr, and that app speaks voidhash now"), "\(refused)")
      }
      let left = try await eventRelay(
        "replay", "--to", "upstream", "--from-archive", directory.file("archive"), "--app", "ios", "--config", file)
      #expect(left.exitCode == 0, "\(left)")
      try await expectWell(other)
    }

    /// Through a relay to a stand-in, which takes each event once; then once more.
    @Test("events of each protocol reach a stand-in within the relay, and do so again from the log")
    func delivered() async throws {
      let relay = try await RelayProcess(directory, settings(), "--stand-in")
      let standIn = try #require(relay.standIn)
      try await send("datalyr", "dk_1", [track("order-1"), track("order-2")], to: relay.ingest[0])
      try await send("datalyr", nil, [web("web-1")], to: relay.ingest[0])
      try await send("voidhash", "vh_pk_1", [voidhash("U-1"), voidhash("U-2")], to: relay.ingest[0])
      try await relay.accept([TestEvent(1)])
      #expect(try await relay.flush() == 0)
      let stored = try await onThread { try TestConnection(to: standIn).send("GET", "/events") }
      for event in [track("order-1"), track("order-2"), web("web-1"), voidhash("U-1"), voidhash("U-2")] {
        #expect(stored.text.contains("\"event\":\(event)}"), "\(event)")
      }
      let admin = try await RelayProcess.post(
        Array(#"{"to":"upstream","from_log":true}"#.utf8), to: relay.admin, path: "/replays", key: nil)
      #expect(admin.status == 200, "\(admin.text)")
      let id = try #require(admin.json?["id"]?.string)
      try await lookAgain { try await relay.admin("GET", "/replays/\(id)").json?["state"] != "done" }
      #expect(try await relay.flush() == 0)
      let stats = try await json("/stats", of: standIn)
      for (name, events) in [("app-store-operator", 1), ("datalyr", 3), ("voidhash", 2)] {
        let counts = stats["protocols"]?[name]?["events"]
        #expect(
          counts?["stored"]?.integer() == events && counts?["duplicates"]?.integer() == events, "\(name) \(stats)")
      }
      #expect(try await relay.stop() == 0)
    }

    @Test("what an upstream refused is a dead letter of its protocol, found by its id, and goes when it is put back")
    func deadLetters() async throws {
      let standIn = try ChildProcess(["upstream", "--protocol", "all", "--listen", "127.0.0.1:0", "--fail", "400:2"])
      let line = try #require(await standIn.waitForLine("127.0.0.1:"), "\(standIn.errorText)")
      let address = try TestAddress(String(line[line.range(of: "127.0.0.1:")!.lowerBound...]))
      let relay = try await RelayProcess(directory, settings(url: "http://\(address.authority)"))
      try await send("datalyr", "dk_1", [track("order/1")], to: relay.ingest[0])
      #expect(try await relay.flush() == 0)
      try await send("voidhash", "vh_pk_1", [voidhash("U-1")], to: relay.ingest[0])
      #expect(try await relay.flush() == 0)
      let config = directory.file("relay.yaml")
      for (id, name) in [("order/1", "datalyr"), ("U-1", "voidhash")] {
        let shown = try await eventRelay("dead-letters", "show", id, "--config", config)
        #expect(shown.exitCode == 0 && shown.output.contains("\"protocol\":\"\(name)\""), "\(shown)")
        let found = try await copies(id)
        let upstream = found.first?["destinations"]?.array?.first { $0["name"] == "upstream" }
        #expect(upstream?["state"] == "dead_lettered" && found.first?["protocol"]?.string == name, "\(found)")
      }
      let again = try await eventRelay("dead-letters", "replay", "--config", config)
      #expect(again.exitCode == 0, "\(again)")
      #expect(try await relay.flush() == 0)
      let stored = try await json("/events", of: address)["events"]?.array ?? []
      #expect(stored.compactMap { $0["protocol"]?.string }.sorted() == ["datalyr", "voidhash"])
      for id in ["order/1", "U-1"] {
        let upstream = try await copies(id).first?["destinations"]?.array?.first { $0["name"] == "upstream" }
        #expect(upstream?["state"] == "delivered", "\(upstream ?? .null)")
      }
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }
  }
}
