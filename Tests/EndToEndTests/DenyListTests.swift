import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A deny list")
  struct DenyListTests {
    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream) -> RelaySettings {
      var settings = RelaySettings(upstream, sinks: "\(RelaySettings.raw), \(RelaySettings.audit)")
      settings.apps = """
        apps:
          - { name: ios, write_key: aso_wk_test, consent: { deny_ids_file: ./deny.txt } }
          - { name: web, write_key: aso_wk_web }
        """
      settings.grace = "5s"
      return settings
    }

    private func deny(_ ids: String...) {
      _ = directory.write("deny.next", "# who asked for it\n" + ids.joined(separator: "\n") + "\n")
      rename(directory.file("deny.next"), directory.file("deny.txt"))
    }

    private func suppressed(_ relay: RelayProcess) async throws -> JSONValue {
      try await relay.status()["ledger"]?["suppressed"] ?? .null
    }

    /// The files of the relay and its sinks that hold a text.
    private func holders(of text: String) -> [String] {
      let needle = Array(text.utf8)
      return ["data", "events", "archive"].flatMap { folder -> [String] in
        let root = directory.file(folder)
        let files = (FileManager.default.enumerator(atPath: root)?.allObjects ?? []).compactMap { $0 as? String }
        return files.map { "\(root)/\($0)" }.filter { readFile($0)?.firstRange(of: needle) != nil }
      }
    }

    @Test("has a person's events answered as accepted, counted, and stored nowhere; a part of a batch too")
    func nowhere() async throws {
      // What it takes goes to the dead letters, so that these are looked into as well.
      let upstream = try ScriptedUpstream { request in
        .accept(rejected: Dictionary(uniqueKeysWithValues: request.events.indices.map { ($0, "invalid_name") }))
      }
      deny("left-alone", "user-7")
      let relay = try await RelayProcess(directory, settings(upstream))
      let properties = #"{"mark":"sesame"}"#
      let listed = (0..<5).map { TestEvent($0, install: "left-alone", properties: properties) }
      let others = (0..<3).map { TestEvent($0, install: "other", properties: #"{"mark":"kept"}"#) }
      try await relay.accept(listed)
      try await relay.accept([listed[0], others[0], listed[1], others[1], others[2]])
      let identify = try await relay.post(
        Array(#"{"anonymous_id":"sesame-install","user_id":"user-7"}"#.utf8), to: "/v1/identify")
      #expect(identify.status == 204)
      // Another app's list is another.
      let elsewhere = TestEvent(9, install: "left-alone")
      try await relay.accept([elsewhere], key: "aso_wk_web")
      #expect(try await relay.flush() == 0)
      #expect(try await suppressed(relay) == ["total": 8, "apps": ["ios": 8]])
      let page = try await relay.admin("GET", "/metrics").text
      #expect(page.contains(#"event_relay_ingest_events_total{app="ios",outcome="suppressed"} 8"#))
      #expect(page.contains(#"event_relay_ingest_events_total{app="ios",outcome="accepted"} 3"#))
      #expect(page.contains(#"event_relay_suppressed_events_total{app="ios"} 8"#))
      let config = directory.file("relay.yaml")
      let table = try await eventRelay("status", "--config", config)
      #expect(table.output.contains("8 events, kept out by deny lists (ios 8)"), "\(table.output)")
      let found = try await eventRelay("where", listed[0].id, "--config", config)
      #expect(found.exitCode == 1 && found.output.contains("deny list"), "\(found.output)")
      let passport = try await relay.admin("GET", "/events/\(listed[0].id)")
      #expect(passport.status == 404 && passport.json?["message"]?.string?.contains("deny list") == true)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let offline = try await eventRelay("status", "--json", "--config", config)
      let status = try JSONValue(parsing: Array(offline.output.utf8))
      #expect(status["ledger"]?["suppressed"]?["total"]?.integer() == 8)
      try await expectNowhere(listed, kept: others + [elsewhere], upstream)
    }

    private func expectNowhere(_ listed: [TestEvent], kept: [TestEvent], _ upstream: ScriptedUpstream) async throws {
      let kept = kept.map(\.id).sorted()
      #expect(eventIDs(sinkLines(directory)).sorted() == kept)
      #expect(try await archivedIDs(directory).sorted() == kept)
      let sent = upstream.record.value.requests.flatMap(\.events).map { RawJSON.string("event_id", of: $0) ?? "" }
      #expect(Set(sent) == Set(kept))
      #expect(holders(of: "sesame").isEmpty && listed.flatMap { holders(of: $0.id) }.isEmpty)
      // (Where it was looked, the others are.)
      let places = holders(of: "kept").joined(separator: " ")
      #expect(places.contains("/dead-letters/") && places.contains("/events/") && places.contains("/log/"), "\(places)")
    }

    @Test("counts what was answered through kill -9 and a restart, never less and nothing that was not sent")
    func killed() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      deny("left-alone")
      let settings = settings(upstream)
      let sent = Fact(0)
      let answered = Fact(0)
      for round in 1...3 {
        let relay = try await RelayProcess(directory, settings)
        let before: Int = try await suppressed(relay)["total"]?.integer() ?? -1
        #expect((answered.value...sent.value).contains(before), "\(answered.value) \(before)")
        let (isRunning, answeredBefore) = (Fact(true), answered.value)
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<6 {
            group.addTask {
              while isRunning.value {
                sent.change { $0 += 1 }
                let body = TestEvent.batch([TestEvent(0, install: "left-alone")])
                guard let answer = try? await relay.post(body), answer.status == 200 else { return }
                answered.change { $0 += 1 }
              }
            }
          }
          #expect(await answered.wait { $0 >= round * 60 } != nil)
          isRunning.change { $0 = round < 3 }
          if round < 3 { try? await relay.crash() }
        }
        guard round == 3 else { continue }
        // Nothing was cut off this time.
        let after: Int = try await suppressed(relay)["total"]?.integer() ?? -1
        #expect(after - before == answered.value - answeredBefore)
        #expect(try await relay.stop() == 0)
        let again = try await RelayProcess(directory, settings)
        #expect(try await suppressed(again)["total"]?.integer() == after)
        try await expectWell(directory)
        #expect(try await again.stop() == 0)
      }
    }

    @Test(
      "on a full disk has its requests refused and not counted, and goes on by itself when there is room",
      .enabled("no small disk can be mounted here") { await SmallDisk.isPossible() })
    func fullDisk() async throws {
      let disk = try SmallDisk(at: directory.file("data"), megabytes: 16)
      deny("left-alone")
      var settings = settings(try ScriptedUpstream())
      settings.log = "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 0B"
      let relay = try await RelayProcess(directory, settings, on: disk)
      let body = TestEvent.batch([TestEvent(0, install: "left-alone")])
      #expect(try await relay.post(body).status == 200)
      try disk.fill(of: relay.process)
      for _ in 0..<3 {
        let refused = try await relay.post(body)
        #expect(
          refused.status == 503 && refused.headers["retry-after"] != nil && refused.json?["code"] == "server_error")
      }
      #expect(try await suppressed(relay)["total"] == 1)
      disk.empty(of: relay.process)
      #expect(try await relay.post(body).status == 200)
      #expect(try await suppressed(relay) == ["total": 2, "apps": ["ios": 2]])
      let page = try await relay.admin("GET", "/metrics").text
      #expect(page.contains(#"event_relay_ingest_events_total{app="ios",outcome="suppressed"} 2"#))
      #expect(await relay.process.waitForLine("can't be counted: such requests are answered with 503") != nil)
      #expect(await relay.process.waitForLine("can be counted again") != nil)
      #expect(try await relay.stop() == 0)
    }

    @Test("that is changed counts from the next request on after a reload, and by itself soon after it changes on disk")
    func changed() async throws {
      let upstream = try ScriptedUpstream()
      deny("one")
      let settings = settings(upstream)
      let relay = try await RelayProcess(directory, settings)
      let events = ["one", "two", "one", "two", "one"].enumerated().map { TestEvent($0.offset, install: $0.element) }
      try await relay.accept([events[0]])
      try await relay.accept([events[1]])
      deny("two")
      #expect(try await relay.reload(settings, in: directory)["applied"] == ["apps"])
      try await relay.accept([events[2]])
      try await relay.accept([events[3]])
      // One that is wrong changes nothing.
      _ = directory.write("deny.txt", "one\ta\n")
      let refused = try await relay.reload(settings, in: directory, status: 422)
      #expect(refused.texts("faults").first?.contains("deny.txt\", line 1: holds a control character") == true)
      deny("one", "two")
      #expect(await relay.process.waitForLine("are in use") != nil)
      try await relay.accept([events[4]])
      #expect(try await relay.flush() == 0)
      #expect(eventIDs(sinkLines(directory)) == [events[1].id, events[2].id])
      #expect(try await suppressed(relay) == ["total": 3, "apps": ["ios": 3]])
      // Without a list, and without the app, the counts stay.
      var without = settings
      without.apps = "apps: [{ name: web, write_key: aso_wk_web }]"
      try await relay.reload(without, in: directory)
      #expect(try await suppressed(relay) == ["total": 3, "apps": ["ios": 3]])
      #expect(
        try await relay.admin("GET", "/metrics").text.contains(#"event_relay_suppressed_events_total{app="other"} 3"#))
      #expect(try await relay.stop() == 0)
    }

    @Test(
      "whose counts are damaged has them begun anew, and says so; those of a newer program keep the relay from starting"
    )
    func damaged() async throws {
      let upstream = try ScriptedUpstream()
      deny("one")
      let settings = settings(upstream)
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept([TestEvent(0, install: "one")])
      #expect(try await relay.stop() == 0)
      let file = directory.file("data/suppressed.json")
      let whole = try #require(readFile(file))
      _ = directory.write("data/suppressed.json", String(decoding: whole.dropLast(2), as: UTF8.self))
      #expect(try await doctor(directory).has("suppressed", "is damaged"))
      let next = try await RelayProcess(directory, settings)
      try await next.accept([TestEvent(1, install: "one")])
      let counts = try await suppressed(next)
      #expect(counts["total"] == 1 && counts["counts_since"]?.string != nil)
      #expect(readFile("\(file).damaged-1") == whole.dropLast(2))
      try await expectWell(directory)
      #expect(try await next.stop() == 0)
      _ = directory.write("data/suppressed.json", #"{"format":"event-relay-suppressed","version":9}"# + "\n")
      let refused = try await eventRelay("run", "--config", directory.file("relay.yaml"))
      #expect(refused.exitCode == 1 && refused.errors.contains("has version 9, and this program reads up to 1"))
    }
  }
}
