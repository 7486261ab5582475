import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// Requests of the vendors' own SDKs against the relay, byte for byte.
  @Suite("A vendor's SDK that is pointed at the relay")
  struct CaptureTests {
    private let directory = TemporaryDirectory()

    private func settings(_ apps: String) -> RelaySettings {
      var settings = RelaySettings(
        apps: "apps:\n\(apps)", log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1h",
        hasSink: false, grace: "5s")
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./events/all.ndjson }
          - { name: audit, type: archive, path: ./archive, rotate: { every: 1s } }
        """
      return settings
    }

    /// What became of events in the log, in the line file and in the archive: each must have their bytes as they came.
    private func check(
      _ relay: RelayProcess, _ events: [[UInt8]], id: (([UInt8]) -> String?), protocolName: String
    ) async throws {
      for event in events {
        let id = try #require(id(event))
        let passport = try await relay.admin("GET", "/events/\(id)")
        #expect(passport.status == 200, "\(passport.text)")
        let copy = passport.json?["copies"]?.array?.first
        #expect(copy?["protocol"]?.string == protocolName, "\(passport.text)")
        let segment = try #require(copy?["log"]?["segment"]?.string, "\(passport.text)")
        let offset = try #require(copy?["log"]?["offset"]?.integer(as: Int.self), "\(passport.text)")
        let logged = try #require(readFile(directory.file("data/log/\(segment)"))).dropFirst(offset)
        #expect(Data(logged).range(of: Data(event)) != nil, "\(id)'s bytes in the log")
      }
      #expect(try await relay.stop() == 0)
      let wanted = events.map { String(decoding: $0, as: UTF8.self) }.sorted()
      let lines = readLines(directory.file("events/all.ndjson"))
      #expect(try stored(lines, protocolName) == wanted)
      let archived = try await eventRelay("archive", "cat", directory.file("archive"))
      #expect(archived.exitCode == 0, "\(archived.errors)")
      #expect(try stored(archived.output.split(separator: "\n").map(String.init), protocolName) == wanted)
      try await expectWell(directory)
    }

    /// The events of records, each of which must name the protocol.
    private func stored(_ lines: [String], _ protocolName: String) throws -> [String] {
      try lines.map { line in
        #expect(RawJSON.string("protocol", of: Array(line.utf8)) == protocolName, "\(line)")
        return String(decoding: try #require(RawJSON.member("event", of: Array(line.utf8))), as: UTF8.self)
      }.sorted()
    }

    // MARK: Datalyr

    private func shop(_ upstream: ScriptedServer) -> String {
      """
        - name: shop
          protocol: datalyr
          write_key: dk_test_0123456789
          accept_keys: [dk_test_rn, dk_test_swift, ws_1]
          upstream: { url: "http://127.0.0.1:\(upstream.port)/track" }
      """
    }

    @Test("of Datalyr's gets its answer, and the upstream gets each request's body as it was sent")
    func datalyr() async throws {
      let captures = Capture.all("datalyr")
      try #require(captures.count == 16)
      let upstream = ScriptedServer { connection, _ in
        while connection.readRequest() != nil { connection.answer("200 OK", #"{"success":true}"#) }
      }
      let relay = try await RelayProcess(
        directory,
        settings(shop(upstream)))
      for capture in captures {
        let answer = try await relay.postRaw(capture.bytes)
        #expect(answer.status == 200, "\(capture.name): \(answer.text)")
        #expect(answer.json?["success"]?.bool == true, "\(capture.name): \(answer.text)")
      }
      let sent = try #require(await upstream.requests.wait { $0.count == captures.count })
      let bodies = Dictionary(grouping: captures) { $0.body }
      for request in sent {
        let capture = try #require(bodies[request.body]?.first, "\(String(decoding: request.body, as: UTF8.self))")
        let head = request.head.lowercased()
        #expect(request.head.hasPrefix("POST \(capture.path) HTTP/"), "\(request.head)")
        #expect(head.contains("content-type: application/json\r\n"), "\(request.head)")
        if capture.path == "/track" {
          #expect(head.contains("x-api-key: dk_test_0123456789\r\n"), "\(request.head)")
        } else {
          #expect(head.contains("x-batch-size: \(capture.events.count)\r\n"), "\(request.head)")
          #expect(!head.contains("x-api-key"), "\(request.head)")
        }
      }
      #expect(Set(sent.map(\.body)).count == captures.count)
      #expect(try await relay.flush() == 0)
      try await check(
        relay, captures.flatMap(\.events),
        id: { RawJSON.string("eventId", of: $0) ?? RawJSON.string("event_id", of: $0) },
        protocolName: "datalyr")
    }

    @Test(
      "of Datalyr's that sends events of several persons at once has them go whole, behind what one of them waits for")
    func severalPersons() async throws {
      let goesOn = DispatchSemaphore(value: 0)
      let upstream = ScriptedServer { connection, _ in
        while let request = connection.readRequest() {
          if RawJSON.string("eventId", of: request.body) == "first" { goesOn.wait() }
          connection.answer("200 OK", #"{"success":true}"#)
        }
      }
      // (Whatever fails before it: the one that is held lets the test end.)
      defer { goesOn.signal() }
      let relay = try await RelayProcess(
        directory,
        settings(shop(upstream)))
      let web = #"""
        {"batchId" : "b-1","events":[{"workspace_id":"ws_1","anonymous_id":"ann","visitor_id":"ann","event_id":"w-1","event_name":"a","timestamp":"2026-11-30T06:11:22.098Z", "event_data":{"i":1e0}},\#
        {"workspace_id":"ws_1","anonymous_id":"bob","visitor_id":"bob","event_id":"w-2","event_name":"b","timestamp":"2026-11-30T06:11:22.098Z", "event_data":{ }},\#
        {"workspace_id":"ws_1","anonymous_id":"cat","visitor_id":"cat","event_id":"w-3","event_name":"ü\u00fc","timestamp":"2026-11-30T06:11:22.098Z", "event_data":{}}],\#
         "timestamp":"2026-11-30T06:11:22.099Z"}
        """#
      let bodies = [track("before", of: "dora"), track("first", of: "bob"), web]
      for (number, body) in bodies.enumerated() {
        let answer = try await relay.postRaw(post(number == 2 ? "/" : "/track", body))
        try #require(answer.status == 200, "\(answer.text)")
        // (Once one has been answered a second one may go beside the next.)
        if number < 2 { try #require(await upstream.requests.wait { $0.count == number + 1 } != nil) }
        if number == 0 { #expect(try await relay.flush() == 0) }
      }
      #expect(try await relay.flush(timeout: "1s") == 4)
      #expect(upstream.requests.value.count == 2)
      goesOn.signal()
      let sent = try #require(await upstream.requests.wait { $0.count == 3 })
      #expect(sent.map { String(decoding: $0.body, as: UTF8.self) } == bodies)
      #expect(sent[2].head.hasPrefix("POST / HTTP/"))
      #expect(sent[2].head.lowercased().contains("x-batch-size: 3\r\n"))
      #expect(try await relay.flush() == 0)
      let events = RawJSON.elements(RawJSON.member("events", of: Array(web.utf8)) ?? [])
      #expect(events.count == 3)
      try await check(
        relay, [Array(bodies[0].utf8), Array(bodies[1].utf8)] + events,
        id: { RawJSON.string("eventId", of: $0) ?? RawJSON.string("event_id", of: $0) }, protocolName: "datalyr")
    }

    private func track(_ id: String, of person: String) -> String {
      #"{"event":"Paid","properties":{},"context":{},"anonymousId":"\#(person)","eventId":"\#(id)","timestamp":"2026-11-30T12:00:00Z"}"#
    }

    private func post(_ path: String, _ body: String) -> [UInt8] {
      let key = path == "/track" ? "X-API-Key: dk_test_0123456789\r\n" : ""
      let head = "POST \(path) HTTP/1.1\r\nHost: h\r\n\(key)Content-Type: application/json\r\n"
      return Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    // MARK: Voidhash

    @Test("of Voidhash's gets its answer, and the upstream gets each event as it was sent, in order, batched anew")
    func voidhash() async throws {
      let captures = Capture.all("voidhash")
      try #require(captures.count == 3)
      let upstream = ScriptedServer { connection, _ in
        while let request = connection.readRequest() {
          let count = RawJSON.elements(RawJSON.member("events", of: request.body) ?? []).count
          connection.answer("202 Accepted", #"{"accepted":\#(count),"rejected":0}"#)
        }
      }
      let relay = try await RelayProcess(
        directory,
        settings(
          """
            - name: game
              protocol: voidhash
              write_key: vh_pk_test123
              upstream: { url: "http://127.0.0.1:\(upstream.port)", linger: 100ms }
          """))
      for capture in captures {
        let answer = try await relay.postRaw(capture.bytes)
        #expect(answer.status == 202, "\(capture.name): \(answer.text)")
        #expect(answer.json?["accepted"]?.integer() == capture.events.count, "\(capture.name): \(answer.text)")
        #expect(answer.json?["rejected"]?.integer() == 0, "\(capture.name): \(answer.text)")
      }
      #expect(try await relay.flush() == 0)
      let events = captures.flatMap(\.events)
      var sent: [[UInt8]] = []
      for request in upstream.requests.value {
        #expect(request.head.hasPrefix("POST /i/v1/batch HTTP/"), "\(request.head)")
        #expect(RawJSON.string("token", of: request.body) == "vh_pk_test123")
        #expect(RawJSON.string("sent_at", of: request.body)?.hasSuffix("Z") == true)
        sent += RawJSON.elements(RawJSON.member("events", of: request.body) ?? [])
      }
      #expect(sent == events)
      try await check(
        relay, events, id: { RawJSON.string("uuid", of: $0) }, protocolName: "voidhash")
    }
  }
}
