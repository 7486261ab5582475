import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The admin listener")
  struct AdminTests {
    private let directory = TemporaryDirectory()

    /// Every metric of the contract, without the prefix.
    private static let metrics = [
      "build_info", "ingest_requests_total", "ingest_request_seconds", "ingest_events_total",
      "ingest_clamped_events_total", "ingest_rejected_events_total", "ingest_connections", "log_size_bytes",
      "log_segments", "log_sync_seconds", "log_events_per_sync", "log_dropped_events_total",
      "log_corrupt_records_total", "destination_pending_events", "destination_oldest_pending_seconds",
      "destination_delivered_events_total", "destination_attempts_total", "destination_request_seconds",
      "destination_retry_seconds", "dead_letter_events_total", "clamp_risk_events", "config_last_reload_success",
      "destination_ledger_events",
    ]

    /// A page's samples by name and labels.
    private func samples(_ page: String) -> [String: Double] {
      var found: [String: Double] = [:]
      for line in page.split(separator: "\n") where !line.hasPrefix("#") {
        guard let space = line.lastIndex(of: " ") else { continue }
        found[String(line[..<space])] = Double(line[line.index(after: space)...])
      }
      return found
    }

    @Test("the metrics page has every name of the contract, and counts what happened")
    func metrics() async throws {
      let upstream = try ScriptedUpstream { _ in .accept(rejected: [0: "too_many_event_names"]) }
      let relay = try await RelayProcess(
        directory,
        RelaySettings(upstream: upstream, apps: "apps: [{ name: ios, write_key: aso_wk_ios }]", linger: "10m"))
      let old = TestEvent(2, at: .distantPast)
      let bad = TestEvent(id: "bad", text: #"{"name":"$reserved"}"#)
      let answer = try await relay.post(TestEvent.batch([TestEvent(0), TestEvent(1), old, bad]), key: "aso_wk_ios")
      #expect(answer.json?["accepted"]?.integer() == 3)
      #expect(try await relay.flush() == 0)
      let page = try await relay.admin("GET", "/metrics")
      #expect(page.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
      for name in Self.metrics {
        #expect(page.text.contains("# TYPE event_relay_\(name) "), "\(name) is missing")
      }
      for name in [
        "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_start_time_seconds",
      ] { #expect(page.text.contains("\n\(name) "), "\(name) is missing") }
      let samples = samples(page.text)
      let expected = [
        #"ingest_events_total{app="ios",outcome="accepted"}"#: 3.0,
        #"ingest_events_total{app="ios",outcome="rejected"}"#: 1,
        #"ingest_clamped_events_total{app="ios"}"#: 1, #"ingest_rejected_events_total{code="reserved_name"}"#: 1,
        #"destination_delivered_events_total{destination="upstream"}"#: 2,
        #"destination_delivered_events_total{destination="raw"}"#: 3,
        #"destination_pending_events{destination="upstream"}"#: 0,
        #"destination_attempts_total{destination="upstream",outcome="delivered"}"#: 1,
        #"dead_letter_events_total{destination="upstream",reason="rejected"}"#: 1,
        #"destination_ledger_events{destination="upstream",column="accepted"}"#: 3,
        #"destination_ledger_events{destination="upstream",column="delivered"}"#: 2,
        #"destination_ledger_events{destination="upstream",column="dead_lettered"}"#: 1,
        #"destination_ledger_events{destination="upstream",column="waiting"}"#: 0,
        #"destination_ledger_events{destination="raw",column="lost"}"#: 0,
        "log_dropped_events_total": 0, "log_corrupt_records_total": 0,
      ]
      for (name, value) in expected {
        #expect(samples["event_relay_\(name)"] == value, "\(name) is \(samples["event_relay_\(name)"] ?? .nan)")
      }
      #expect(!page.text.contains("aso_wk"))
    }

    @Test("it says that it lives, is ready, and how each destination is")
    func health() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      #expect(try await relay.admin("GET", "/livez").status == 200)
      for path in ["/readyz", "/healthz"] {
        let answer = try await relay.admin("GET", path)
        #expect(answer.status == 200, "\(path): \(answer.text)")
        #expect(answer.json?["status"]?.string != nil)
        let checks = try #require(answer.json?["checks"]?.array)
        #expect(checks.allSatisfy { $0["name"]?.string != nil && $0["ok"]?.bool == true })
      }
      let names = try await relay.admin("GET", "/healthz").json?["checks"]?.array?.compactMap { $0["name"]?.string }
      #expect(names?.contains { $0.contains("upstream") } == true)
      #expect(names?.contains { $0.contains("raw") } == true)
      #expect(try await relay.admin("GET", "/nothing").status == 404)
      #expect(try await relay.admin("POST", "/metrics").status == 405)
    }

    @Test("a disk with too little room makes it unready and refuses events, and both say so")
    func noRoom() async throws {
      let upstream = try ScriptedUpstream()
      let settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 900000GiB")
      let relay = try await RelayProcess(directory, settings)
      let answer = try await relay.post(TestEvent.batch([TestEvent(0)]))
      #expect(answer.status == 503)
      #expect(answer.json?["code"] == "server_error")
      #expect(answer.headers["retry-after"] != nil)
      let ready = try await relay.admin("GET", "/readyz")
      #expect(ready.status == 503)
      #expect(ready.json?["checks"]?.array?.contains { $0["ok"] == false } == true)
      #expect(try await relay.admin("GET", "/livez").status == 200)
      #expect(try await relay.stop() == 0)
    }

    @Test("a full log refuses with 503 and Retry-After, and takes events again when there is room")
    func fullLog() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 6MiB, min_free_disk: 1MiB", hasSink: false)
      let relay = try await RelayProcess(directory, settings)
      let padding = #"{"text":"\#(String(repeating: "x", count: 1000))"}"#
      var accepted: [String] = []
      var refusal: TestAnswer?
      for start in stride(from: 0, to: 20_000, by: 100) where refusal == nil {
        let batch = (start..<start + 100).map { TestEvent($0, properties: padding) }
        let answer = try await relay.post(TestEvent.batch(batch))
        if answer.status == 200 { accepted += batch.map(\.id) } else { refusal = answer }
      }
      #expect(refusal?.status == 503)
      #expect(refusal?.json?["code"] == "server_error")
      #expect(refusal?.headers["retry-after"] != nil)
      #expect(try await relay.admin("GET", "/readyz").status == 503)
      upstream.behave { _ in .accept() }
      #expect(await upstream.hasTaken(accepted))
      #expect(try await relay.flush() == 0)
      #expect(try await relay.post(TestEvent.batch([TestEvent(0)])).status == 200)
      #expect(try await relay.admin("GET", "/readyz").status == 200)
    }

    @Test("a flush sends at once what lingers, and says what was sent and what still waits")
    func flush() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory, RelaySettings(upstream: upstream, linger: "10m", hasSink: false))
      try await relay.accept([TestEvent(0), TestEvent(1)])
      let answer = try await relay.admin("POST", "/flush?timeout=30s")
      #expect(answer.json?["pending"]?.integer() == 0)
      #expect(answer.json?["flushed"]?.integer() == 2)
      try await relay.accept([TestEvent(2)])
      let command = try await eventRelay("flush", "--config", directory.file("relay.yaml"))
      #expect(command.exitCode == 0, "\(command.errors)")
      #expect(upstream.record.value.events.count == 3)
      #expect(try await relay.admin("POST", "/flush?timeout=soon").status == 400)
    }

    @Test("a web page can't reach it: another Host is refused on every path")
    func host() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      for path in ["/status", "/metrics", "/healthz"] {
        #expect(try await relay.admin("GET", path, host: "evil.example").status == 403)
        #expect(try await relay.admin("GET", path, host: "localhost").status == 200)
        #expect(try await relay.admin("GET", path).status == 200)
      }
      #expect(try await relay.admin("POST", "/flush", host: "evil.example:8788").status == 403)
    }

    @Test("with a token, only the health paths are open without it")
    func token() async throws {
      var settings = RelaySettings()
      settings.adminToken = "s3cret-token"
      let relay = try await RelayProcess(directory, settings)
      for path in ["/livez", "/readyz", "/healthz"] { #expect(try await relay.admin("GET", path).status == 200) }
      #expect(try await relay.admin("GET", "/status").status == 401)
      #expect(try await relay.admin("GET", "/status", headers: [("Authorization", "Bearer wrong")]).status == 401)
      let right = [("Authorization", "Bearer s3cret-token")]
      #expect(try await relay.admin("GET", "/status", headers: right).status == 200)
      let command = try await eventRelay("status", "--config", directory.file("relay.yaml"))
      #expect(command.exitCode == 0, "\(command.errors)")
      #expect(!relay.process.errorText.contains("s3cret"))
    }

    @Test("the status tells of version, log, destinations and books, and holds no key")
    func status() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      try await relay.accept([TestEvent(0)])
      // (The second refusal says that the first has been taken in.)
      try await upstream.refuses(2)
      let status = try await relay.status()
      #expect(status["version"]?.string?.isEmpty == false)
      #expect(status["log"]?.members?.isEmpty == false)
      let destination = try await relay.destination("upstream")
      #expect(destination["state"] == "waiting")
      #expect(destination["ledger"]?["accepted"]?.integer() == 1)
      #expect(destination["ledger"]?["waiting"]?.integer() == 1)
      // What waits holds the log, and it is said who.
      #expect(try #require(destination["held_bytes"]?.integer(as: Int.self)) > 0)
      let table = try await eventRelay("status", "--config", directory.file("relay.yaml"))
      #expect(table.exitCode == 0, "\(table.errors)")
      #expect(table.output.contains("upstream") && table.output.contains("waiting"))
      let text = try await relay.admin("GET", "/status").text
      #expect(!text.contains("aso_wk_test") && !relay.process.errorText.contains("aso_wk_test"))
      #expect(try await relay.stop() == 0)
      let offline = try await eventRelay("status", "--config", directory.file("relay.yaml"), "--json")
      #expect(offline.exitCode == 0 || offline.exitCode == 1, "\(offline.errors)")
      #expect(offline.output.contains("upstream"), "\(offline.output)\(offline.errors)")
    }
  }
}
