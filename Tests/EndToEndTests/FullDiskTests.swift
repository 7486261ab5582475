import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A full disk")
  struct FullDiskTests {
    @Test(
      "it refuses events with 503 and keeps what it has; when there is room again it takes events again by itself",
      .enabled("no small disk can be mounted here") { await SmallDisk.isPossible() })
    func fullAndBack() async throws {
      let directory = TemporaryDirectory()
      let disk = try SmallDisk(at: directory.file("data"), megabytes: 24)
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 256MiB, min_free_disk: 0B")
      let relay = try await RelayProcess(directory, settings, on: disk)
      let padding = #"{"text":"\#(String(repeating: "x", count: 1000))"}"#
      var accepted: [String] = []
      func post() async throws -> TestAnswer {
        let batch = (0..<100).map { TestEvent($0, properties: padding) }
        let answer = try await relay.post(TestEvent.batch(batch))
        if answer.status == 200 { accepted += batch.map(\.id) }
        return answer
      }

      #expect(try await post().status == 200)
      try disk.fill(of: relay.process)
      var refusal = try await post()
      for _ in 0..<500 where refusal.status == 200 { refusal = try await post() }
      #expect(refusal.status == 503)
      #expect(refusal.json?["code"] == "server_error")
      #expect(refusal.headers["retry-after"] != nil)
      #expect(try await relay.admin("GET", "/readyz").status == 503)
      #expect(try await relay.admin("GET", "/livez").status == 200)

      disk.empty(of: relay.process)
      let deadline = ContinuousClock.now + .seconds(60)
      var answer = try await post()
      while answer.status == 503, ContinuousClock.now < deadline { answer = try await post() }
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try await relay.admin("GET", "/readyz").status == 200)

      upstream.behave { _ in .accept() }
      #expect(await upstream.hasTaken(accepted))
      #expect(try await relay.flush() == 0)
      let lines = sinkLines(directory).map { Array($0.utf8) }
      let numbers = lines.map { String(decoding: RawJSON.member("seq", of: $0) ?? [], as: UTF8.self) }
      #expect(numbers == (1...accepted.count).map { "\($0)" })
      #expect(try await relay.stop() == 0)
    }
  }
}
