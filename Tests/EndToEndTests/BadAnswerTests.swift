import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite("An upstream that answers badly")
  struct BadAnswerTests {
    /// What the upstream does once it has read a request.
    enum Way: String, CaseIterable, CustomTestStringConvertible {
      case stallsAfterHead = "stalls after the head"
      case dribbles = "sends its body byte by byte, without end"
      case endlessChunks = "sends chunks without end"
      case endlessTrailers = "sends trailers without end"
      case endlessHead = "sends header lines without end"
      case endlessLine = "sends one header line without end"
      case endlessInterim = "sends interim answers without end"
      case closesAmid = "closes in the middle of the body"
      case hugeBody = "sends 10 MB"
      case hugeError = "sends 10 MB with a 400"
      case notJSON = "sends no JSON"
      case deepJSON = "sends JSON of 100,000 levels"
      case notHTTP = "speaks something else"
      case emptyBody = "sends an empty 200"

      var testDescription: String { rawValue }

      /// How attempts are counted.
      var outcome: String {
        switch self {
        case .endlessChunks, .hugeBody, .hugeError, .notJSON, .deepJSON, .emptyBody: "foreign"
        default: "network"
        }
      }

      /// Of the request: short only where nothing else ends it, since a busy machine takes long over 10 MB.
      var timeout: String {
        switch self {
        case .stallsAfterHead, .dribbles: "400ms"
        default: "1m"
        }
      }

      private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
      private static let good = #"{"accepted":5,"rejected":[],"clamped":[]}"#

      func act(_ connection: ScriptedConnection) {
        func flood(_ text: String) { while connection.write(text) {} }
        switch self {
        case .stallsAfterHead:
          connection.write(Self.head + "Content-Length: 41\r\n\r\n")
          _ = connection.read(atMost: 1)
        case .dribbles:
          connection.write(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
          // Slower than anything but a time limit would end; the client goes when its time is over.
          while connection.write("1\r\n \r\n"), connection.waitsBeforeMore() {}
        case .endlessChunks:
          connection.write(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
          flood("1000\r\n" + String(repeating: " ", count: 4096) + "\r\n")
        case .endlessTrailers:
          connection.write(Self.head + "Transfer-Encoding: chunked\r\n\r\n29\r\n\(Self.good)\r\n0\r\n")
          flood(String(repeating: "X-Trailer: \(String(repeating: "x", count: 100))\r\n", count: 100))
        case .endlessHead:
          connection.write(Self.head)
          flood("X-Line: y\r\n")
        case .endlessLine:
          connection.write(Self.head + "X-Line: ")
          flood(String(repeating: "y", count: 4096))
        case .endlessInterim: flood("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        case .closesAmid: connection.write(Self.head + "Content-Length: 41\r\n\r\n{\"accepted\":5,")
        case .hugeBody: connection.answer("200 OK", Self.good + String(repeating: " ", count: 10 << 20))
        case .hugeError:
          connection.answer(
            "400 Bad Request", #"{"code":"invalid_body","message":"m"}"# + String(repeating: " ", count: 10 << 20))
        case .notJSON: connection.answer("200 OK", "accepted: 5")
        case .deepJSON: connection.answer("200 OK", String(repeating: "[", count: 100_000))
        case .notHTTP: connection.write("220 smtp.example ESMTP\r\n")
        case .emptyBody: connection.answer("200 OK", "")
        }
      }
    }

    private let directory = TemporaryDirectory()

    /// An upstream that answers badly until it is told to be good: then it takes everything.
    private func upstream(_ way: Way, _ isGood: Fact<Bool>, _ taken: Fact<[String]>) -> ScriptedServer {
      ScriptedServer { connection, _ in
        while let request = connection.readRequest() {
          guard isGood.value else { return way.act(connection) }
          let ids = RawJSON.elements(RawJSON.member("events", of: request.body) ?? []).compactMap {
            RawJSON.string("event_id", of: $0)
          }
          taken.change { $0 += ids }
          connection.answer("200 OK", #"{"accepted":\#(ids.count),"rejected":[],"clamped":[]}"#)
        }
      }
    }

    @Test(
      "costs neither events nor memory nor time, is counted as what it is, and logged once", arguments: Way.allCases)
    func costsNothing(_ way: Way) async throws {
      let (isGood, taken) = (Fact(false), Fact<[String]>([]))
      let upstream = upstream(way, isGood, taken)
      let settings = RelaySettings(
        url: "http://127.0.0.1:\(upstream.port)", timeout: way.timeout, retry: "initial: 20ms, max: 20ms, jitter: 0%")
      let relay = try await RelayProcess(directory, settings)
      let events = (0..<5).map { TestEvent($0) }
      try await relay.accept(events)
      // The sixth request says that five have been answered.
      #expect(await upstream.requests.wait { $0.count >= 6 } != nil)
      let page = try await relay.admin("GET", "/metrics").text
      let attempts = page.split(separator: "\n").filter { $0.contains("attempts_total{destination=\"upstream\"") }
      #expect(attempts.contains { $0.contains("outcome=\"\(way.outcome)\"") }, "\(page)")
      for line in attempts {
        let count = Int(line.split(separator: " ").last ?? "") ?? -1
        #expect(line.contains("outcome=\"\(way.outcome)\"") ? count >= 5 : count == 0, "\(line)")
      }
      let ledger = try #require(try await relay.destination("upstream")["ledger"])
      #expect(ledger["waiting"]?.integer() == 5 && ledger["delivered"]?.integer() == 0, "\(ledger)")
      let memory = try #require(peakMemory(of: relay.process.id))
      #expect(memory < 100 << 20, "\(memory >> 20) MiB at most")
      let lines = relay.process.errorText.split(separator: "\n")
      #expect(lines.count { $0.contains("events wait") } == 1, "\(relay.process.errorText)")
      // It says what to look at.
      let detail = try await relay.destination("upstream")["last_error"]?.string ?? ""
      #expect(!detail.lowercased().contains("memory"), "\(detail)")

      isGood.change { $0 = true }
      #expect(await taken.wait { Set($0).isSuperset(of: events.map(\.id)) } != nil)
      #expect(try await relay.flush() == 0)
      #expect(taken.value.sorted() == events.map(\.id).sorted(), "delivered once each")
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    /// The most memory a process has had, in bytes.
    private func peakMemory(of process: pid_t) -> Int? {
      let lines = readLines("/proc/\(process)/status")
      let line = lines.first { $0.hasPrefix("VmHWM:") }
      return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1024 }
    }
  }
}

extension ScriptedConnection {
  /// Waits for a moment, or until the client has closed: false then.
  fileprivate func waitsBeforeMore() -> Bool { !isClosed(within: 20) }
}
