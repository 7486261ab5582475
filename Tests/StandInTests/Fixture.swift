import Clocks
import HTTPServer
import JSON
import Observability
import StandIn
import Synchronization
import TestSupport
import Testing

/// A wall clock that a test sets.
final class TestClock: Sendable {
  private let moment: Mutex<Timestamp>

  /// By default 2026-10-23T12:00:00Z.
  init(_ moment: Timestamp = Timestamp(milliseconds: 1_792_756_800_000)) { self.moment = Mutex(moment) }

  var wall: WallClock { WallClock { self.moment.withLock { $0 } } }
  var now: Timestamp { moment.withLock { $0 } }
  func advance(by delay: Duration) { moment.withLock { $0 = $0 + delay } }
}

/// A running stand-in and a connection to it.
struct Upstream {
  let server: StandInServer
  let client: RawClient
  let clock: TestClock

  func post(
    _ path: String, _ body: String, key: String? = "aso_wk_test", headers: String = ""
  ) async throws -> RawClient.Response {
    let keyLine = key.map { "X-Write-Key: \($0)\r\n" } ?? ""
    await client.send(
      "POST \(path) HTTP/1.1\r\nHost: h\r\n\(keyLine)\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    return try await client.response()
  }

  func send(_ events: [String], key: String? = "aso_wk_test") async throws -> RawClient.Response {
    try await post("/v1/events", #"{"events":[\#(events.joined(separator: ","))]}"#, key: key)
  }

  func get(_ target: String) async throws -> RawClient.Response {
    await client.send("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
    return try await client.response()
  }

  func json(_ target: String) async throws -> JSONValue { try JSONValue(parsing: try await get(target).body) }
}

func withUpstream(
  clock: TestClock = TestClock(), configure: (inout StandInConfiguration) -> Void = { _ in },
  _ body: (Upstream) async throws -> Void
) async throws {
  var configuration = StandInConfiguration()
  configuration.clock = clock.wall
  configure(&configuration)
  let server = StandInServer(configuration, logger: .silent)
  try server.start()
  do {
    try await body(Upstream(server: server, client: try RawClient(port: server.tcpPort()), clock: clock))
  } catch {
    await server.stop(until: .now)
    throw error
  }
  await server.stop(until: .now)
}

/// An event that keeps all rules, each number another one.
func event(
  _ number: Int, name: String = "opened", install: String = "install", at: String = "2026-10-23T12:00:00Z",
  more: String = ""
) -> String {
  let tail = String(number, radix: 16)
  let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - tail.count) + tail
  return #"{"event_id":"\#(id)","name":"\#(name)","anonymous_id":"\#(install)","occurred_at":"\#(at)"\#(more)}"#
}

extension StandInServer {
  func tcpPort() throws -> Int {
    let port: Int? = if case .tcp(_, let port)? = address { port } else { nil }
    return try #require(port)
  }
}
