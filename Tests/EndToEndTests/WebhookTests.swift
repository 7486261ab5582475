import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Webhooks")
  struct WebhookTests {
    private static let secrets = [
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_b3RoZXIgc2VjcmV0IG9mIHRoaXJ0eS10d28gYnl0ZXMu",
    ]
    private let directory = TemporaryDirectory()
    /// Ids of events that the receiver answered with 2xx.
    private let taken = Fact<Set<String>>([])

    private func settings(_ upstream: ScriptedUpstream?, hook url: String, _ keys: String = "") -> RelaySettings {
      var settings = RelaySettings(upstream: upstream, hasSink: false)
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./events/all.ndjson }
          - { name: hook, type: webhook, url: "\(url)", linger: 20ms, retry: { initial: 20ms, max: 50ms }\(keys) }
        """
      return settings
    }

    private func receiver() throws -> ScriptedUpstream {
      let taken = taken
      return try ScriptedUpstream { request in
        taken.change { $0.formUnion(request.eventIDs) }
        return .answer(204)
      }
    }

    @Test(
      "an implementation by others verifies each request, by the old secret and the new; the events are as they came",
      .enabled(if: PythonTools.isThere, PythonTools.comment))
    func signatures() async throws {
      let receiver = try receiver()
      let relay = try await RelayProcess(
        directory, settings(try ScriptedUpstream(), hook: receiver.url, ", secret: \(Self.secrets)"))
      let events = (0..<250).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(await taken.wait { $0.count == 250 } != nil)
      let requests = receiver.record.value.requests
      for secret in Self.secrets {
        #expect(
          try await PythonTools.verify(requests, secret: secret, in: directory)
            == requests.map { _ in "ok" })
      }
      var forged = requests[0]
      forged.body[forged.body.count / 2] ^= 1
      var other = requests[0]
      other.headers["webhook-id"] = "msg_another"
      let bad = ["WebhookVerificationError", "WebhookVerificationError"]
      #expect(try await PythonTools.verify([forged, other], secret: Self.secrets[0], in: directory) == bad)
      let stranger = "whsec_" + Data(1...32).base64EncodedString()
      #expect(try await PythonTools.verify([requests[0]], secret: stranger, in: directory) == [bad[0]])

      #expect(requests.flatMap(\.numbers) == Array(1...250))
      #expect(try await relay.flush() == 0)
      let lines = readLines(directory.file("events/all.ndjson"))
      #expect(requests.flatMap(\.lines).map { String(decoding: $0, as: UTF8.self) } == lines)
      #expect(requests.allSatisfy { $0.method == "POST" && $0.headers["content-type"] == "application/json" })
      #expect(requests.allSatisfy { $0.headers["user-agent"]?.hasPrefix("event-relay/") == true })
      #expect(try await relay.stop() == 0)
    }

    @Test("a batch keeps its id and its bytes through failures and kill -9, and every event arrives")
    func killed() async throws {
      let fails = Fact(true)
      let taken = taken
      let receiver = try ScriptedUpstream { request in
        if fails.value { return request.number % 2 == 0 ? .reset : .answer(503) }
        taken.change { $0.formUnion(request.eventIDs) }
        return .answer(200)
      }
      let settings = settings(try ScriptedUpstream(), hook: receiver.url)
      var relay = try await RelayProcess(directory, settings)
      var ids: [String] = []
      for round in 1...4 {
        // What comes between the attempts must not change the batch under way.
        let events = (0..<30).map { TestEvent($0) }
        try await relay.accept(events)
        ids += events.map(\.id)
        #expect(await receiver.record.wait { $0.requests.count >= round * 3 } != nil)
        try await relay.crash()
        relay = try await RelayProcess(directory, settings)
      }
      let failed = receiver.record.value.requests
      #expect(Set(failed.map(\.webhookID)).count == 1)
      #expect(Set(failed.map(\.body)).count == 1)
      fails.change { $0 = false }
      let all = ids
      #expect(await taken.wait { $0.isSuperset(of: all) } != nil)
      #expect(try await relay.flush() == 0)
      let numbers = receiver.record.value.requests.dropFirst(failed.count).flatMap(\.numbers)
      #expect(Set(numbers) == Set(1...120))
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("killed again and again, every event arrives, and one id never stands for two contents")
    func killedOften() async throws {
      let taken = taken
      let receiver = try ScriptedUpstream { request in
        switch request.number % 5 {
        case 0: return .answer(500)
        case 1: return .reset
        default:
          taken.change { $0.formUnion(request.eventIDs) }
          return .answer(200)
        }
      }
      let settings = settings(try ScriptedUpstream(), hook: receiver.url, ", max_batch_events: 7")
      let senders = Senders(eventCount: 1500)
      var relay = try await RelayProcess(directory, settings)
      senders.relay(at: relay.ingest[0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { try await senders.send() } }
        for end in stride(from: 250, through: 1500, by: 250) {
          try await senders.release(end, untilAccepted: end - Int.random(in: 50..<200))
          try await relay.crash()
          relay = try await RelayProcess(directory, settings)
          senders.relay(at: relay.ingest[0])
          try await senders.release(end, untilAccepted: end)
        }
        try await group.waitForAll()
      }
      let accepted = senders.acceptedIDs
      #expect(await taken.wait { $0.isSuperset(of: accepted) } != nil)
      let bodies = Dictionary(grouping: receiver.record.value.requests, by: \.webhookID)
      #expect(bodies.values.allSatisfy { Set($0.map(\.body)).count == 1 })
      #expect(bodies.values.contains { $0.count > 1 })
      // (What the receiver has is acknowledged a moment later.)
      try await lookAgain { try await relay.destination("hook")["pending"]?.integer() != 0 }
      let hook = try await relay.destination("hook")
      #expect(hook["ledger"]?["waiting"]?.integer() == 0 && hook["ledger"]?["dead_lettered"]?.integer() == 0)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("a receiver that hangs delays neither the upstream, nor a file, nor the answer to a sender, nor a stop")
    func hanging() async throws {
      let receiver = try ScriptedUpstream { _ in .silence }
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream, hook: receiver.url))
      let events = (0..<300).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(await receiver.record.wait { !$0.requests.isEmpty } != nil)
      #expect(await upstream.hasTaken(events.map(\.id)))
      try await lookAgain { try await relay.destination("raw")["pending"]?.integer() != 0 }
      #expect(readLines(directory.file("events/all.ndjson")).count == 300)
      #expect(try await relay.admin("GET", "/livez").status == 200)
      #expect(try await relay.destination("hook")["pending"]?.integer() == 300)
      #expect(receiver.record.value.requests.count == 1)
      #expect(try await relay.stop() == 0)
    }

    @Test("what a receiver refuses is in the dead letters with its status and its words, and nothing of them is logged")
    func refused() async throws {
      let receiver = try ScriptedUpstream { _ in .answer(422, body: "no hunter2 here") }
      let relay = try await RelayProcess(directory, settings(try ScriptedUpstream(), hook: receiver.url))
      let events = [TestEvent(0), TestEvent(1)]
      try await relay.accept(events)
      try await lookAgain { try await relay.destination("hook")["pending"]?.integer() != 0 }
      let letters = sinkLines(directory, "data/dead-letters").compactMap { try? JSONValue(parsing: $0) }
      #expect(letters.compactMap { $0["event"]?["event_id"]?.string } == events.map(\.id))
      #expect(letters.allSatisfy { $0["destination"] == "hook" && $0["reason"] == "refused" })
      #expect(letters.allSatisfy { $0["status"]?.integer() == 422 && $0["message"] == "no hunter2 here" })
      let hook = try await relay.destination("hook")
      #expect(hook["state"]?.string == "refused" && hook["ledger"]?["dead_lettered"]?.integer() == 2)
      let metrics = try await relay.admin("GET", "/metrics").text
      #expect(metrics.contains(#"event_relay_destination_attempts_total{destination="hook",outcome="refused"}"#))
      #expect(metrics.contains(#"event_relay_dead_letter_events_total{destination="hook",reason="refused"} 2"#))
      #expect(metrics.contains(#"event_relay_destination_request_seconds_count{destination="hook"}"#))
      let status = try await relay.admin("GET", "/status").text
      #expect(!status.contains("hunter2") && !relay.process.errorText.contains("hunter2"))
      // (That the receiver refuses is wrong; but for that all is well.)
      #expect(try await doctor(directory).faults.map(\.name) == ["destination hook"])
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("a receiver that is gone gets nothing any more until the configuration is read again")
    func gone() async throws {
      let isGone = Fact(true)
      let taken = taken
      let receiver = try ScriptedUpstream { request in
        guard !isGone.value else { return .answer(410) }
        taken.change { $0.formUnion(request.eventIDs) }
        return .answer(200)
      }
      let relay = try await RelayProcess(directory, settings(try ScriptedUpstream(), hook: receiver.url))
      let events = [TestEvent(0), TestEvent(1)]
      try await relay.accept([events[0]])
      try await lookAgain { try await relay.destination("hook")["state"]?.string != "gone" }
      try await relay.accept([events[1]])
      isGone.change { $0 = false }
      _ = try await relay.flush(timeout: "300ms")
      #expect(receiver.record.value.requests.count == 1)
      #expect(try await relay.destination("hook")["detail"]?.string?.contains("410") == true)
      #expect(try await relay.admin("POST", "/reload").status == 200)
      #expect(await taken.wait { $0.count == 2 } != nil)
      #expect(try await relay.stop() == 0)
    }

    @Test(
      "TLS is verified, by the authority that is named, and the relay shows its certificate to who asks for it",
      .enabled(if: PythonTools.isThere, PythonTools.comment))
    func tls() async throws {
      let (server, client) = (
        try TestCertificate("hook.test", in: directory), try TestCertificate("relay", in: directory)
      )
      let (receiver, port) = try await PythonTools.start(
        "tls_receiver.py", server.certificate, server.key, client.certificate)
      let url = "https://localhost:\(port)/in"
      let shown = ", client_certificate: { certificate: \(client.certificate), key: \(client.key) }"
      func state(_ keys: String) async throws -> String {
        let relay = try await RelayProcess(directory, settings(try ScriptedUpstream(), hook: url, keys))
        try await relay.accept([TestEvent(0)])
        var hook = try await relay.destination("hook")
        try await lookAgain {
          hook = try await relay.destination("hook")
          return hook["state"]?.string != "waiting"
        }
        let detail = hook["detail"]?.string ?? ""
        #expect(try await relay.stop() == 0)
        return detail
      }
      #expect(try await state(shown).contains("(tls)"))
      #expect(try await state("\(shown), ca_file: \(client.certificate)").contains("ca_file"))
      _ = try await state(", ca_file: \(server.certificate)")
      #expect(!receiver.outputText.contains("events"))
      let relay = try await RelayProcess(
        directory, settings(try ScriptedUpstream(), hook: url, "\(shown), ca_file: \(server.certificate)"))
      let said = await receiver.output.wait { said in
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").dropFirst()
        let counts = lines.compactMap { (try? JSONValue(parsing: String($0)))?["events"]?.integer(as: Int.self) }
        return counts.reduce(0, +) == 3
      }
      #expect(said != nil, "\(receiver.outputText)")
      #expect(receiver.outputText.contains("\"has_certificate\": true"))
      #expect(try await relay.stop() == 0)
    }

    @Test(
      "https goes through the environment's proxy, which resolves the name; this machine's own addresses don't",
      .enabled(if: PythonTools.isThere, PythonTools.comment))
    func proxy() async throws {
      let server = try TestCertificate("hook.test", in: directory)
      let (receiver, port) = try await PythonTools.start("tls_receiver.py", server.certificate, server.key)
      let (proxy, proxyPort) = try await PythonTools.start("tls_receiver.py", "--proxy", "\(port)")
      let upstream = try ScriptedUpstream()
      let local = "http://127.0.0.1:\(proxyPort)"
      let relay = try await RelayProcess(
        directory, settings(upstream, hook: "https://hook.test/in", ", ca_file: \(server.certificate)"),
        environment: ["https_proxy": local, "http_proxy": local, "ALL_PROXY": local, "no_proxy": ""])
      let event = TestEvent(0)
      try await relay.accept([event])
      #expect(await receiver.output.wait { String(decoding: $0, as: UTF8.self).contains("\"events\": 1") } != nil)
      #expect(receiver.outputText.contains("\"host\": \"hook.test\""))
      #expect(await upstream.hasTaken([event.id]))
      let asked = proxy.outputText.split(separator: "\n").dropFirst()
      #expect(!asked.isEmpty && asked.allSatisfy { $0 == "CONNECT hook.test:443 HTTP/1.1" }, "\(asked)")
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
    }
  }
}
