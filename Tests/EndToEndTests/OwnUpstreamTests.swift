import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("An app with an upstream of its own")
  struct OwnUpstreamTests {
    private let directory = TemporaryDirectory()
    private let usual: ScriptedUpstream

    init() throws { usual = try ScriptedUpstream() }

    /// Answers everything in one way.
    private static func upstream(_ status: String, _ body: String = #"{"success":true}"#) -> ScriptedServer {
      ScriptedServer { connection, _ in
        while connection.readRequest() != nil { connection.answer(status, body) }
      }
    }

    private func settings(_ server: ScriptedServer, _ name: String = "datalyr", key: String = "dk_web") -> RelaySettings
    {
      var settings = RelaySettings(upstream: usual, keys: "listed")
      settings.apps = """
        apps:
          - { name: ios, write_key: aso_wk_test }
          - { name: web, protocol: \(name), write_key: \(key), upstream: { url: "http://127.0.0.1:\(server.port)" } }
        """
      return settings
    }

    private func track(_ id: String) -> [UInt8] {
      Array(
        #"{"event":"n", "eventId":"\#(id)","anonymousId":"a","properties":{},"context":{},"timestamp":"\#(TestEvent.now)"}"#
          .utf8)
    }

    /// The app's lane once it is held: a request that was under way at the change may take its time.
    private func heldLane(_ relay: RelayProcess, _ app: String) async throws -> JSONValue? {
      for _ in 0..<300 {
        let lane = try await lane(relay, app)
        if lane?["state"]?.string == "held" { return lane }
        #expect(try await relay.flush(timeout: "1s") == 1)
      }
      return nil
    }

    private func lane(_ relay: RelayProcess, _ app: String) async throws -> JSONValue? {
      try await relay.destination("upstream")["lanes"]?.array?.first { $0["app"]?.string == app }
    }

    @Test("is held alone when that changes under waiting events, as check says; --adopt sends them, byte for byte")
    func changed() async throws {
      let (first, second) = (Self.upstream("503 Service Unavailable"), Self.upstream("200 OK"))
      let relay = try await RelayProcess(directory, settings(first))
      let event = track("e1")
      #expect(try await relay.post(event, to: "/track", key: nil, headers: [("X-API-Key", "dk_web")]).status == 200)
      _ = await first.requests.wait { !$0.isEmpty }
      #expect(try await relay.stop() == 0)

      let holding = try await RelayProcess(directory, settings(second))
      let other = TestEvent(0)
      try await holding.accept([other])
      #expect(await usual.hasTaken([other.id]))
      #expect(try await holding.flush(timeout: "1s") == 1)
      let lane = try await lane(holding, "web")
      #expect(lane?["state"]?.string == "held", "\(String(describing: lane))")
      #expect(try await holding.stop() == 0)
      #expect(second.requests.value.isEmpty)
      let check = try await eventRelay("check", "--config", directory.file("relay.yaml"))
      #expect(check.output.contains("1 event waits of app web that was accepted for"), "\(check.output)\(check.errors)")

      let adopting = try await RelayProcess(directory, settings(second), "--adopt")
      let request = try #require(await second.requests.wait { !$0.isEmpty }?.first)
      #expect(request.head.hasPrefix("POST /track "))
      #expect(request.head.contains("X-API-Key: dk_web"))
      #expect(request.body == event)
      #expect(try await adopting.flush() == 0)
      #expect(try await adopting.stop() == 0)
    }

    @Test(
      "keeps what came by another protocol than it speaks now, through reloads and restarts, until it speaks that again"
    )
    func otherProtocol() async throws {
      let (first, second) = (
        Self.upstream("503 Service Unavailable"), Self.upstream("202 Accepted", #"{"accepted":1,"rejected":0}"#)
      )
      let relay = try await RelayProcess(directory, settings(first))
      let event = track("e1")
      #expect(
        try await relay.post(event, to: "/track", key: nil, headers: [("X-API-Key", "dk_web")]).status == 200)
      _ = await first.requests.wait { !$0.isEmpty }
      try await relay.reload(settings(second, "voidhash", key: "vh_pk_web"), in: directory)
      #expect(try await heldLane(relay, "web") != nil)
      #expect(try await relay.stop() == 0)
      let adopting = try await RelayProcess(directory, settings(second, "voidhash", key: "vh_pk_web"), "--adopt")
      #expect(try await heldLane(adopting, "web")?["detail"]?.string?.contains("came by datalyr") == true)
      #expect(second.requests.value.isEmpty)
      #expect(try await adopting.stop() == 0)

      let third = Self.upstream("200 OK")
      let back = try await RelayProcess(directory, settings(third), "--adopt")
      #expect(await third.requests.wait { !$0.isEmpty }?.first?.body == event)
      #expect(try await back.flush() == 0)
      #expect(try await back.stop() == 0)
    }
  }
}
