import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Apps of three protocols on one port")
  struct ThreeProtocolsTests {
    /// One of the protocols: how its senders post, and what its upstream is like.
    enum Speech: String, CaseIterable, Sendable {
      case appStoreOperator = "app-store-operator"
      case datalyr, voidhash

      var key: String {
        switch self {
        case .appStoreOperator: "aso_wk_three"
        case .datalyr: "dk_three"
        case .voidhash: "vh_pk_three"
        }
      }

      /// An event by itself, its id `three-N` as a UUID.
      func event(_ number: Int) -> String {
        let id = id(number)
        let person = "anon_\(number % 5)"
        return switch self {
        case .appStoreOperator:
          #"{"event_id":"\#(id)","name":"n","anonymous_id":"\#(person)","occurred_at":"\#(Self.now)"}"#
        case .datalyr:
          #"{"event":"n","eventId":"\#(id)","anonymousId":"\#(person)","timestamp":"\#(Self.now)","properties":{},"#
            + #""context":{}}"#
        case .voidhash:
          #"{"uuid":"\#(id)","event":"n","distinct_id":"\#(person)","timestamp":"\#(Self.now)","properties":{},"#
            + #""context":{}}"#
        }
      }

      private static let now = Date().ISO8601Format()

      func id(_ number: Int) -> String {
        let place = Self.allCases.firstIndex(of: self) ?? 0
        return "0000000\(place)-0000-4000-8000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
      }

      /// Posts events, and expects that they are taken.
      func post(_ numbers: Range<Int>, to relay: RelayProcess) async throws {
        let events = numbers.map(event)
        switch self {
        case .appStoreOperator:
          let answer = try await relay.post(Array(#"{"events":[\#(events.joined(separator: ","))]}"#.utf8), key: key)
          #expect(answer.status == 200, "\(answer.text)")
        case .datalyr:
          for event in events {
            let answer = try await relay.post(
              Array(event.utf8), to: "/track", key: nil, headers: [("x-api-key", key)])
            #expect(answer.status == 200, "\(answer.text)")
          }
        case .voidhash:
          let body = #"{"events":[\#(events.joined(separator: ","))],"token":"\#(key)"}"#
          let answer = try await relay.post(Array(body.utf8), to: "/i/v1/batch", key: nil)
          #expect(answer.status == 202, "\(answer.text)")
        }
      }

      /// The ids in a request to the upstream.
      func ids(_ body: [UInt8]) -> [String] {
        switch self {
        case .appStoreOperator: Self.ids(body, "event_id")
        case .datalyr: RawJSON.string("eventId", of: body).map { [$0] } ?? []
        case .voidhash: Self.ids(body, "uuid")
        }
      }

      private static func ids(_ body: [UInt8], _ name: String) -> [String] {
        RawJSON.elements(RawJSON.member("events", of: body) ?? []).compactMap { RawJSON.string(name, of: $0) }
      }

      func taken(_ count: Int, by connection: ScriptedConnection) {
        switch self {
        case .appStoreOperator: connection.answer("200 OK", #"{"accepted":\#(count),"rejected":[],"clamped":[]}"#)
        case .datalyr: connection.answer("200 OK", #"{"success":true}"#)
        case .voidhash: connection.answer("202 Accepted", #"{"accepted":\#(count),"rejected":0}"#)
        }
      }
    }

    /// What an upstream does with requests.
    enum Mood: Sendable, CaseIterable { case fails, hangs, limits }

    /// A protocol's upstream, which takes everything unless it has a mood.
    private final class Upstream: Sendable {
      let mood = Fact<Mood?>(nil)
      let taken = Fact<[String]>([])
      let refused = Fact<Int>(0)
      let server: ScriptedServer

      init(_ speech: Speech) {
        let (mood, taken, refused) = (mood, taken, refused)
        server = ScriptedServer { connection, _ in
          while let request = connection.readRequest() {
            if let now = mood.value {
              refused.change { $0 += 1 }
              switch now {
              case .fails: connection.answer("503 Service Unavailable", "{}")
              case .limits: connection.answer("429 Too Many Requests", "{}", headers: ["Retry-After: 1"])
              case .hangs:
                // Until the client gives the request up.
                _ = connection.read(atMost: 1)
                return
              }
              continue
            }
            let ids = speech.ids(request.body)
            taken.change { $0 += ids }
            speech.taken(ids.count, by: connection)
          }
        }
      }
    }

    private let directory = TemporaryDirectory()

    private func apps(_ upstreams: [Speech: Upstream]) -> String {
      let apps = Speech.allCases.map { speech in
        """
          - name: \(speech.rawValue)
            protocol: \(speech.rawValue)
            write_key: \(speech.key)
            upstream:
              url: "http://127.0.0.1:\(upstreams[speech]!.server.port)"
              linger: 20ms
              timeout: 1s
              retry: { initial: 50ms, max: 200ms }
              rate_limit: { \(speech == .datalyr ? "requests_per_minute" : "events_per_minute"): 0 }
        """
      }
      return "apps:\n" + apps.joined(separator: "\n")
    }

    @Test("whose upstreams fail, hang and limit in turn: none is slowed by another, and the books are exact")
    func inTurn() async throws {
      let upstreams = Dictionary(uniqueKeysWithValues: Speech.allCases.map { ($0, Upstream($0)) })
      let relay = try await RelayProcess(directory, RelaySettings(apps: apps(upstreams), grace: "5s"))
      let portion = 20
      var posted = 0
      for (mood, ill) in Mood.allCases.flatMap({ mood in Speech.allCases.map { (mood, $0) } }) {
        upstreams[ill]!.mood.change { $0 = mood }
        let before = upstreams[ill]!.refused.value
        let healthy = upstreams[ill]!.taken.value.count
        for speech in Speech.allCases { try await speech.post(posted..<posted + portion, to: relay) }
        posted += portion
        // The ill one has been tried in vain, and the others have everything meanwhile.
        #expect(await upstreams[ill]!.refused.wait { $0 > before } != nil)
        for speech in Speech.allCases where speech != ill {
          let ids = Set((0..<posted).map(speech.id))
          #expect(await upstreams[speech]!.taken.wait { Set($0) == ids } != nil, "\(speech) while \(ill) \(mood)")
        }
        #expect(upstreams[ill]!.taken.value.count == healthy)
        upstreams[ill]!.mood.change { $0 = nil }
        let ids = Set((0..<posted).map(ill.id))
        #expect(await upstreams[ill]!.taken.wait { Set($0) == ids } != nil, "\(ill) after \(mood)")
      }
      #expect(try await relay.flush() == 0)
      let ledger = try #require(try await relay.destination("upstream")["ledger"])
      #expect(ledger["accepted"]?.integer() == 3 * posted, "\(ledger)")
      #expect(ledger["delivered"]?.integer() == 3 * posted, "\(ledger)")
      #expect(ledger["waiting"]?.integer() == 0 && ledger["dead_lettered"]?.integer() == 0, "\(ledger)")
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      // Every line says how its event came, and has it as it came.
      let lines = sinkLines(directory)
      for speech in Speech.allCases {
        let own = lines.filter { RawJSON.string("protocol", of: Array($0.utf8)) == speech.rawValue }
        let events = own.compactMap {
          RawJSON.member("event", of: Array($0.utf8)).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(Set(events) == Set((0..<posted).map(speech.event)))
        #expect(events.count == posted)
      }
      try await expectWell(directory)
    }
  }
}
