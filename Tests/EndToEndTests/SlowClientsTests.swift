import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Slow clients")
  struct SlowClientsTests {
    private let directory = TemporaryDirectory()

    private func head(_ rest: String) -> String {
      "POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: slow\r\n" + rest
    }

    /// Posts until it isn't told to come again; how often it was.
    private func insist(_ relay: RelayProcess, _ events: [TestEvent]) async throws -> Int {
      var refusals = 0
      try await lookAgain {
        // (A refusal may come as a connection that ends, when it crosses the request.)
        if let answer = try? await relay.post(TestEvent.batch(events)) {
          if answer.status == 200 { return false }
          guard answer.status == 503 else { throw TestFailure("\(answer.status): \(answer.text)") }
        }
        refusals += 1
        return true
      }
      return refusals
    }

    private func metric(_ relay: RelayProcess, _ line: String) async throws -> Double {
      let text = try await relay.admin("GET", "/metrics").text
      guard let found = text.split(separator: "\n").first(where: { $0.hasPrefix(line + " ") }) else {
        throw TestFailure("no metric \(line)")
      }
      return Double(found.dropFirst(line.utf8.count + 1)) ?? -1
    }

    @Test("2,000 that dribble heads and bodies, from ten addresses, keep no honest sender out, and all are ended")
    func dribblers() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory,
        RelaySettings(
          upstream: upstream,
          intake: ", max_connections: 1024, max_connections_per_address: 128, header_timeout: 4s, body_timeout: 8s"))
      let address = relay.ingest[0]
      let (heads, bodies) = try await onThread {
        let heads = try RawSockets(1000, to: address) { "127.0.1.\($0 % 5 + 1)" }
        let bodies = try RawSockets(1000, to: address) { "127.0.2.\($0 % 5 + 1)" }
        heads.send(head("X-Dribble: "))
        bodies.send(head("Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"))
        return (heads, bodies)
      }
      for (sockets, byte) in [(heads, UInt8(ascii: "x")), (bodies, UInt8(ascii: " "))] {
        Thread.detachNewThread { sockets.dribble(byte) }
      }
      // Whoever comes meanwhile is taken at once, or soon, and in full.
      let events = (0..<40).map { TestEvent($0) }
      for event in events { _ = try await insist(relay, [event]) }
      #expect(await upstream.hasTaken(events.map(\.id)))
      try await onThread {
        try heads.waitForEnd()
        try bodies.waitForEnd()
      }
      for sockets in [heads, bodies] { sockets.stop() }
      // Nothing that dribbled was taken for an event.
      #expect(try await metric(relay, #"event_relay_ingest_refused_connections_total{reason="address"}"#) >= 360)
      #expect(try await relay.destination("upstream")["ledger"]?["accepted"]?.integer() == events.count)
      let lines = relay.process.errorLines.value.filter { $0.contains("connections are refused") }
      #expect(!lines.isEmpty && !relay.process.errorText.contains("127.0.1."))
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("of one address have no more connections than it may have, and a reload changes how many")
    func perAddress() async throws {
      var settings = RelaySettings(intake: ", max_connections: 40, max_connections_per_address: 10")
      let relay = try await RelayProcess(directory, settings)
      let address = relay.ingest[0]
      let many = try await onThread { try RawSockets(30, to: address) { _ in "127.0.0.9" } }
      // Those past the tenth are told so.
      let answers = try await onThread {
        while many.descriptors[10...].contains(where: { descriptor in
          var byte: UInt8 = 0
          return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0
        }) {}
        return many.descriptors[10...].map { descriptor in
          var chunk = [UInt8](repeating: 0, count: 4096)
          return String(decoding: chunk[..<max(0, recv(descriptor, &chunk, chunk.count, 0))], as: UTF8.self)
        }
      }
      for answer in answers {
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Retry-After: 1\r\n"), "\(answer)")
      }
      try await relay.accept([TestEvent(0)])
      #expect(try await metric(relay, "event_relay_ingest_connections") >= 10)
      settings.intake = ", max_connections: 40, max_connections_per_address: 0"
      let outcome = try await relay.reload(settings, in: directory)
      #expect(outcome["applied"]?.array?.contains { $0.string == "ingest.max_connections_per_address" } == true)
      let more = try await onThread { try RawSockets(10, to: address) { _ in "127.0.0.9" } }
      more.send(head("Content-Length: 0\r\n\r\n"))
      for answer in try await onThread({ try more.answers() }) { #expect(answer.hasPrefix("HTTP/1.1 400 ")) }
      #expect(try await relay.stop() == 0)
    }
  }
}
