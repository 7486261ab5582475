import Apps
import HTTPServer
import JSON
import Observability
import Testing

@testable import Ingest

@Suite("A request's head")
struct HeadTests {
  private let handler: IngestHandler

  init() throws {
    let apps = try AppRegistry(
      apps: [AppDefinition(name: "ios", writeKey: "aso_wk_ios", isDefault: true)], mode: .listed, storage: nil,
      logger: .silent)
    handler = IngestHandler(
      log: FakeLog(), apps: apps, clockTrust: ClockTrust(newestRecord: nil), metrics: MetricsRegistry())
  }

  /// The refusal; nil when the body is asked for.
  private func refusal(_ method: String, _ path: String, type: String?) throws -> (status: Int, code: String?)? {
    let exchange = FakeExchange(method, path, headers: type.map { ["Content-Type": $0] } ?? [:])
    guard case .answer(let response) = handler.head(of: exchange) else { return nil }
    return (response.status, try JSONValue(parsing: response.body)["code"]?.string)
  }

  @Test("passes when it is a JSON post to a known path", arguments: ["/v1/events", "/v1/identify"])
  func passes(path: String) throws {
    #expect(try refusal("POST", path, type: "application/json") == nil)
  }

  @Test(
    "takes what is JSON by its type, and a missing type",
    arguments: [
      nil, "", "application/json", "Application/JSON; charset=utf-8", "application/vnd.aso+json",
      "application/json ;a=b",
    ] as [String?])
  func json(type: String?) throws {
    #expect(try refusal("POST", "/v1/events", type: type) == nil)
  }

  @Test(
    "refuses another type with 415",
    arguments: ["text/plain", "application/x-ndjson", "application/x-www-form-urlencoded", "text/json+json", "json"])
  func otherTypes(type: String) throws {
    let refusal = try refusal("POST", "/v1/events", type: type)
    #expect(refusal?.status == 415)
    #expect(refusal?.code == "unsupported_media_type")
  }

  @Test("refuses another method with 405", arguments: ["GET", "PUT", "OPTIONS", "HEAD", "post"])
  func methods(method: String) throws {
    let refusal = try refusal(method, "/v1/identify", type: nil)
    #expect(refusal?.status == 405)
    #expect(refusal?.code == "method_not_allowed")
  }

  @Test("refuses another path with 404", arguments: ["/v1/events/", "/v1", "/V1/events", "/v1/event", ""])
  func paths(path: String) throws {
    let refusal = try refusal("POST", path, type: nil)
    #expect(refusal?.status == 404)
    #expect(refusal?.code == "not_found")
  }

  @Test("of another path is told the paths of the protocols that apps speak, and of no other")
  func otherPath() throws {
    for (dialects, paths) in [
      ([0], "/v1/events, /v1/identify"), ([1], "/track, /"), ([2, 1], "/track, /, /i/v1/batch, /i/v1/capture"),
    ] as [([UInt8], String)] {
      let apps = try AppRegistry(
        apps: dialects.map { AppDefinition(name: "app\($0)", writeKey: "key\($0)", dialect: $0) }, mode: .listed,
        storage: nil, logger: .silent)
      let handler = IngestHandler(
        log: FakeLog(), apps: apps, clockTrust: ClockTrust(newestRecord: nil), metrics: MetricsRegistry())
      guard case .answer(let response) = handler.head(of: FakeExchange("POST", "/track/")) else {
        Issue.record("the body is asked for")
        continue
      }
      #expect(
        try JSONValue(parsing: response.body)["message"]?.string
          == "Nothing is served at this path; events are posted to \(paths).")
    }
  }
}
