import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Stopping with connections open")
  struct GracefulStopTests {
    private let directory = TemporaryDirectory()

    @Test("50 idle ones are closed at once, a busy one is answered with Connection: close, in less than 2 s")
    func stop() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m", grace: "30s"))
      let address = relay.ingest[0]
      let events = (0..<2).map { TestEvent($0) }
      let head = "POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: k\r\nContent-Type: application/json\r\n"
      let body = TestEvent.batch(events)
      let (fresh, used, begun, busy) = try await onThread {
        let fresh = try RawSockets(17, to: address)
        let used = try RawSockets(17, to: address)
        used.send(head + "Content-Length: 0\r\n\r\n")
        for answer in try used.answers() where !answer.hasPrefix("HTTP/1.1 400 ") { throw TestFailure(answer) }
        let begun = try RawSockets(16, to: address)
        begun.send("POST /v1/events HTTP/1.1\r\nHost: re")
        let busy = try TestConnection(to: address)
        try busy.write(Array((head + "Expect: 100-continue\r\nContent-Length: \(body.count)\r\n\r\n").utf8))
        guard try busy.exchange([], interim: true).map(\.status) == [100] else { throw TestFailure("no 100") }
        try busy.write(Array(body[..<20]))
        return (fresh, used, begun, busy)
      }
      let began = ContinuousClock.now
      relay.process.kill(SIGTERM)
      let answers = try await onThread {
        // The idle ones don't wait for the busy one.
        for idle in [fresh, used, begun] { try idle.waitForEnd() }
        let answers = try busy.exchange(Array(body[20...]))
        guard busy.isEnded() else { throw TestFailure("the busy connection goes on") }
        return answers
      }
      #expect(await relay.process.wait() == 0)
      let took = ContinuousClock.now - began
      #expect(took < .seconds(2), "\(took)")
      #expect(answers.map(\.status) == [200] && answers.first?.headers["connection"] == "close")
      // What it promised is kept.
      #expect(await upstream.hasTaken(events.map(\.id)))
      try await expectWell(directory)
    }
  }
}
