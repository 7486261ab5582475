import EventLog
import EventsAPI
import JSON

/// `POST /track`, one event with the key in `X-API-Key`; and `POST /`, the web SDK's batches, which browsers send and whose
/// key is the `workspace_id` of their events.
struct IncomingDatalyr: IncomingDialect {
  static let track = IncomingRoute(path: "/track", bodyBytesMax: DatalyrLimits.eventBytesMax)
  static let web = IncomingRoute(path: "/", bodyBytesMax: DatalyrLimits.batchBytesMax, isForBrowsers: true)

  var routes: [IncomingRoute] { [Self.track, Self.web] }
  var pageKeyName: String? { DatalyrForm.web.name(of: .workspace) }
  /// No event is rejected beside others: the request is refused.
  var rejectionCodes: [String] { [] }

  var idNames: [String] { [DatalyrForm.track.name(of: .id), DatalyrForm.web.name(of: .id)] }

  /// An event with the name and the id of `/track`'s form is one; every other one is a web batch's when it has that one's id.
  func idName(_ has: (_ member: String) -> Bool) -> String? {
    let (track, web) = (DatalyrForm.track.name(of: .id), DatalyrForm.web.name(of: .id))
    if has(track), has(DatalyrForm.track.name(of: .name)) || !has(web) { return track }
    return has(web) ? web : nil
  }

  var judgesEventsApart: Bool { false }
  var batchRoute: IncomingRoute { Self.web }
  var serving: ServingHabits { ServingHabits() }

  /// An event of the web SDK's goes in a batch of its own.
  func frame(of event: UnsafeRawBufferPointer) -> EventFrame {
    let members = try? JSONValue(parsing: event)
    guard members?[DatalyrForm.track.name(of: .name)] == nil, members?[DatalyrForm.web.name(of: .name)] != nil else {
      return EventFrame(route: Self.track)
    }
    return EventFrame(route: Self.web, prefix: #"{"events":["#, suffix: "]}")
  }

  func keyClaim(of request: any IncomingRequest, _ route: IncomingRoute) -> KeyClaim {
    route.path == Self.web.path ? .body : .head(request.header("X-API-Key"))
  }

  func keyPlace(_ route: IncomingRoute) -> String {
    route.path == Self.web.path ? "The events' workspace_id" : "The X-API-Key header"
  }

  func makeReader() -> any IncomingReader { DatalyrReader() }

  /// `{"success":false,"error":"…","code":"…"}`: the vendor's SDKs only look at the status, so that the form is a guess.
  func answer(_ error: APIError) -> DialectAnswer {
    let body = JSONValue.object([
      .init("success", .bool(false)), .init("error", .string(error.message)), .init("code", .string(Self.code(error))),
    ])
    return DialectAnswer(status: error.status, body: body.utf8)
  }

  /// The key isn't called a write key here.
  private static func code(_ error: APIError) -> String {
    error.status == 401 ? "invalid_api_key" : error.code
  }
}
