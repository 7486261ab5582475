import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Flush and shutdown")
  struct ShutdownTests {
    private let directory = TemporaryDirectory()

    /// Stops a relay; how long it took.
    private func stop(_ relay: RelayProcess) async throws -> Duration {
      let began = ContinuousClock.now
      #expect(try await relay.stop() == 0, "\(relay.process.errorText)")
      return .now - began
    }

    /// Starts the relay again with an upstream that takes everything: all of it arrives.
    private func expectArrival(of ids: some Collection<String> & Sendable, _ settings: RelaySettings) async throws {
      try await expectWell(directory)
      settings.upstream?.behave { _ in .accept() }
      let again = try await RelayProcess(directory, settings)
      #expect(await settings.upstream?.hasTaken(ids) == true)
      #expect(try await again.flush() == 0)
      try await expectWell(directory)
      #expect(try await again.stop() == 0)
    }

    @Test("with an upstream that hangs, SIGTERM ends it within the grace, and nothing is lost", arguments: [1, 3])
    func hangs(grace: Int) async throws {
      let upstream = try ScriptedUpstream { _ in .silence }
      let settings = RelaySettings(upstream: upstream, timeout: "10m", grace: "\(grace)s")
      let relay = try await RelayProcess(directory, settings)
      let events = (0..<250).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(await upstream.record.wait { $0.refusals > 0 } != nil)
      let took = try await stop(relay)
      #expect(took >= .seconds(grace), "the request under way had its time")
      #expect(took < .seconds(grace + 5), "\(took)")
      try await expectArrival(of: events.map(\.id), settings)
    }

    @Test("with an upstream that is down, SIGTERM doesn't wait for the grace: no try could come before its end")
    func isDown() async throws {
      let upstream = try ScriptedUpstream()
      upstream.refuseConnections()
      var settings = RelaySettings(
        upstream: upstream, retry: "initial: 10m, max: 10m, jitter: 0%", grace: "5m")
      let relay = try await RelayProcess(directory, settings)
      // Many lanes, some of which have tried when the end comes, and some not.
      var ids: [String] = []
      for app in 0..<80 {
        let event = TestEvent(app)
        try await relay.accept([event], key: "aso_wk_\(app)")
        ids.append(event.id)
      }
      let took = try await stop(relay)
      #expect(took < .seconds(60), "\(took)")
      // (The delays hold over the restart; another configuration's upstream knows nothing of them.)
      try upstream.listenAgain()
      settings.retry = "initial: 20ms, max: 20ms, jitter: 0%"
      let other = try ScriptedUpstream()
      settings.upstream = other
      let again = try await RelayProcess(directory, settings, "--adopt")
      #expect(await other.hasTaken(ids))
      #expect(try await again.flush() == 0)
      try await expectWell(directory)
      #expect(try await again.stop() == 0)
    }

    @Test("with a sender that never ends its request, SIGTERM still sends what waits")
    func slowSender() async throws {
      let upstream = try ScriptedUpstream()
      let settings = RelaySettings(upstream: upstream, linger: "10m", grace: "2s")
      let relay = try await RelayProcess(directory, settings)
      let events = (0..<50).map { TestEvent($0) }
      try await relay.accept(events)
      let address = relay.ingest[0]
      let sender = try await onThread {
        let connection = try TestConnection(to: address)
        try connection.write(
          Array("POST /v1/events HTTP/1.1\r\nHost: x\r\nX-Write-Key: k\r\nContent-Length: 1000\r\n\r\n{".utf8))
        return connection
      }
      let took = try await stop(relay)
      #expect(took < .seconds(7), "\(took)")
      #expect(await upstream.hasTaken(events.map(\.id), within: .seconds(1)))
      withExtendedLifetime(sender) {}
      try await expectWell(directory)
    }

    @Test(
      "whatever the end, a 200 is in the log: senders under load, the upstream taking, hanging or down",
      arguments: ["taking", "hanging", "down"], [SIGTERM, SIGKILL])
    func neverAnEmptyPromise(upstreamIs: String, signal: Int32) async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false) { _ in upstreamIs == "hanging" ? .silence : .accept() }
      if upstreamIs == "down" { upstream.refuseConnections() }
      let settings = RelaySettings(upstream: upstream, grace: "1s")
      let relay = try await RelayProcess(directory, settings)
      let address = relay.ingest[0]
      let answered = Fact<Set<String>>([])
      let isOver = Fact(false)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            try await onThread {
              guard let connection = try? TestConnection(to: address) else { return }
              var number = 0
              while !isOver.value {
                let batch = (0..<20).map { TestEvent(number * 20 + $0) }
                number += 1
                let answer = try? connection.send(
                  "POST", "/v1/events",
                  headers: [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")],
                  body: TestEvent.batch(batch))
                // No answer, or one that says no: nothing is promised.
                guard let answer, answer.status == 200 else { return }
                answered.change { $0.formUnion(batch.map(\.id)) }
              }
            }
          }
        }
        #expect(await answered.wait { $0.count >= 1000 } != nil)
        relay.process.kill(signal)
        #expect(await relay.process.wait() == (signal == SIGTERM ? 0 : 128 + signal))
        isOver.change { $0 = true }
        try await group.waitForAll()
      }
      if upstreamIs == "down" { try upstream.listenAgain() }
      try await expectArrival(of: answered.value, settings)
    }

    @Test("a flush answers within its timeout, whatever hangs", arguments: ["upstream", "upstream and sink"])
    func flushInTime(what: String) async throws {
      let upstream = try ScriptedUpstream { _ in .silence }
      let hook = ScriptedServer { connection, _ in
        _ = connection.readRequest()
        _ = connection.read(atMost: 1)
      }
      var settings = RelaySettings(upstream: upstream, linger: "10m", timeout: "10m", hasSink: false)
      if what != "upstream" {
        settings.further = """
          sinks: [{ name: hook, type: webhook, url: "http://127.0.0.1:\(hook.port)/", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }]
          """
      }
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept((0..<10).map { TestEvent($0) })
      for timeout in [0, 300, 1500] {
        let began = ContinuousClock.now
        let answer = try await relay.admin("POST", "/flush?timeout=\(timeout)ms")
        let took = ContinuousClock.now - began
        #expect(answer.json?["flushed"]?.integer() == 0 && answer.json?["pending"]?.integer() == 10, "\(answer.text)")
        #expect(took < .milliseconds(timeout) + .seconds(2), "\(took) for \(timeout) ms")
      }
      // It lingered before, and doesn't any more.
      #expect(upstream.record.value.requests.count == 1)
    }
  }
}
