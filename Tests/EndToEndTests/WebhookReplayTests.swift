import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Webhooks and events that are sent again")
  struct WebhookReplayTests {
    private let directory = TemporaryDirectory()
    private var configuration: String { directory.file("relay.yaml") }

    private func settings(hook url: String) throws -> RelaySettings {
      var settings = RelaySettings(
        upstream: try ScriptedUpstream(), log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1d",
        hasSink: false)
      settings.further = """
        sinks:
          - { name: hook, type: webhook, url: "\(url)", linger: 20ms, retry: { initial: 20ms, max: 50ms } }
        """
      return settings
    }

    @Test(
      "a replay arrives under its first numbers and ids of its own, each the same through kill -9, beside new events")
    func replayed() async throws {
      let fails = Fact(false)
      let numbers = Fact<[Int]>([])
      let receiver = try ScriptedUpstream { request in
        if fails.value { return .answer(503) }
        let taken = request.numbers
        numbers.change { $0 += taken }
        return .answer(200)
      }
      let settings = try settings(hook: receiver.url)
      var relay = try await RelayProcess(directory, settings)
      try await relay.accept((0..<250).map { TestEvent($0) })
      #expect(await numbers.wait { $0.count == 250 } != nil)
      let first = receiver.record.value.requests
      // (Until its commit the last batch is still owed, and a replay leaves that out.)
      #expect(try await relay.flush() == 0)
      try await lookAgain { try await relay.destination("hook")["pending"]?.integer() != 0 }

      fails.change { $0 = true }
      let asked = try await eventRelay("replay", "--config", configuration, "--to", "hook", "--from-log")
      #expect(asked.exitCode == 0, "\(asked.errors)")
      #expect(await receiver.record.wait { $0.requests.count >= first.count + 2 } != nil)
      try await relay.crash()
      relay = try await RelayProcess(directory, settings)
      try await relay.accept((0..<30).map { TestEvent($0) })
      #expect(await receiver.record.wait { $0.requests.count >= first.count + 5 } != nil)
      let failed = receiver.record.value.requests.dropFirst(first.count)
      #expect(Set(failed.map(\.webhookID)).count == 1 && Set(failed.map(\.body)).count == 1)
      fails.change { $0 = false }
      #expect(await numbers.wait { Set($0).count == 280 && $0.count >= 530 } != nil)
      #expect(numbers.value.filter { $0 <= 250 }.sorted() == (1...250).flatMap { [$0, $0] })
      let again = receiver.record.value.requests.dropFirst(first.count)
      #expect(Set(again.map(\.webhookID)).isDisjoint(with: first.map(\.webhookID)))
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("its dead letters are put back, and taken once the receiver takes them")
    func deadLetters() async throws {
      let refuses = Fact(true)
      let taken = Fact<[String]>([])
      let receiver = try ScriptedUpstream { request in
        if refuses.value { return .answer(404, body: "not here") }
        let ids = request.eventIDs
        taken.change { $0 += ids }
        return .answer(200)
      }
      let relay = try await RelayProcess(directory, try settings(hook: receiver.url))
      let events = (0..<5).map { TestEvent($0) }
      try await relay.accept(events)
      try await lookAgain { try await relay.destination("hook")["ledger"]?["dead_lettered"]?.integer() != 5 }
      refuses.change { $0 = false }
      for expected in [5, 0] {
        let put = try await eventRelay(
          "dead-letters", "replay", "--config", configuration, "--destination", "hook", "--json")
        #expect(put.exitCode == 0, "\(expected): \(put.errors)")
      }
      #expect(await taken.wait { $0.count == 5 } != nil)
      #expect(Set(taken.value) == Set(events.map(\.id)))
      try await lookAgain { try await relay.destination("hook")["pending"]?.integer() != 0 }
      #expect(taken.value.count == 5)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }
  }
}
