import Testing

@testable import Ingest

@Suite("A request's head")
struct RouteTests {
  @Test("passes when it is a JSON post to a known path", arguments: ["/v1/events", "/v1/identify"])
  func passes(path: String) {
    #expect(Route.fault(method: "POST", path: path, contentType: "application/json") == nil)
  }

  @Test(
    "takes what is JSON by its type, and a missing type",
    arguments: [
      nil, "", "application/json", "Application/JSON; charset=utf-8", "application/vnd.aso+json",
      "application/json ;a=b",
    ] as [String?])
  func json(type: String?) {
    #expect(Route.fault(method: "POST", path: "/v1/events", contentType: type) == nil)
  }

  @Test(
    "refuses another type with 415",
    arguments: ["text/plain", "application/x-ndjson", "application/x-www-form-urlencoded", "text/json+json", "json"])
  func otherTypes(type: String) {
    let fault = Route.fault(method: "POST", path: "/v1/events", contentType: type)
    #expect(fault?.status == 415)
    #expect(fault?.code == "unsupported_media_type")
  }

  @Test("refuses another method with 405", arguments: ["GET", "PUT", "OPTIONS", "HEAD", "post"])
  func methods(method: String) {
    let fault = Route.fault(method: method, path: "/v1/identify", contentType: nil)
    #expect(fault?.status == 405)
    #expect(fault?.code == "method_not_allowed")
  }

  @Test("refuses another path with 404", arguments: ["/", "/v1/events/", "/v1", "/V1/events", "/v1/event", ""])
  func paths(path: String) {
    let fault = Route.fault(method: "POST", path: path, contentType: nil)
    #expect(fault?.status == 404)
    #expect(fault?.code == "not_found")
  }
}
