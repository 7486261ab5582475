import EventLog
import EventsAPI

/// How a protocol's requests come in.
public protocol IncomingDialect: Sendable {
  /// The paths it serves; no two protocols may serve the same.
  var routes: [IncomingRoute] { get }

  /// Where a request says whose events it brings, as far as its head tells.
  func keyClaim(of request: any IncomingRequest, _ route: IncomingRoute) -> KeyClaim

  /// What the place is called where a request of the route has its key, in messages: `The X-Write-Key header`.
  func keyPlace(_ route: IncomingRoute) -> String

  /// What web pages present in the place of the key that the upstream gets; nil: they present a key.
  var pageKeyName: String? { get }

  /// Why an event may be rejected, as metrics call it: a closed set.
  var rejectionCodes: [String] { get }

  /// What the member is called that has an event's id; several where events have several forms.
  var idNames: [String] { get }

  /// Which of ``idNames`` has the id of an event, told by the members that it has: an event of one form may have a member
  /// besides that is called as the other form's id. Nil when it has none.
  func idName(_ has: (_ member: String) -> Bool) -> String?

  /// An event that breaks the rules is rejected by itself, and the others of its request are taken; else the whole request
  /// is refused.
  var judgesEventsApart: Bool { get }

  /// The route that takes a body such as `{"events":[…]}`.
  var batchRoute: IncomingRoute { get }

  /// How an event by itself, as a line of a file is, is put into a request.
  func frame(of event: UnsafeRawBufferPointer) -> EventFrame

  /// What the protocol's own server does besides, for those who stand in for it.
  var serving: ServingHabits { get }

  /// A reader of bodies. Made once for each request that is read at a time, and kept, since it keeps its memory.
  func makeReader() -> any IncomingReader

  /// What a sender is told when its request isn't taken: in the protocol's own form. `error.code` is the App Store Operator
  /// API's word for what is wrong; others may have their own for the same status.
  func answer(_ error: APIError) -> DialectAnswer
}

extension IncomingDialect {
  public var pageKeyName: String? { nil }

  /// For protocols whose events have one form.
  public func idName(_ has: (_ member: String) -> Bool) -> String? { idNames.first(where: has) }
}

/// A request as far as protocols look at it.
public protocol IncomingRequest {
  var method: String { get }
  /// Without the query.
  var path: String { get }
  /// A header's value by its name in any case; nil when it wasn't sent.
  func header(_ name: StaticString) -> String?
}

/// A path that a protocol serves, for POST.
public struct IncomingRoute: Sendable, Hashable {
  /// As sent, and what metrics call it.
  public var path: String
  /// Bytes of the decoded body.
  public var bodyBytesMax: Int
  /// Web pages post here: preflight requests are answered, and who may post is told by `apps[].origins`.
  public var isForBrowsers = false

  public init(path: String, bodyBytesMax: Int, isForBrowsers: Bool = false) {
    self.path = path
    self.bodyBytesMax = bodyBytesMax
    self.isForBrowsers = isForBrowsers
  }
}

/// What makes a request's body of one event.
public struct EventFrame: Sendable, Equatable {
  public var route: IncomingRoute
  /// What stands before the event, and behind it.
  public var prefix, suffix: String

  public init(route: IncomingRoute, prefix: String = "", suffix: String = "") {
    self.route = route
    self.prefix = prefix
    self.suffix = suffix
  }
}

/// What a protocol's own server does that senders don't see in its rules.
public struct ServingHabits: Sendable, Equatable {
  /// Different names that the events of one key may have; an event with one more is rejected. Nil: no end.
  public var namesMax: Int?
  /// The code of such a rejection, one of ``IncomingDialect/rejectionCodes``.
  public var namesCode = ""
  /// A plan's events a month are counted.
  public var hasQuota = false

  public init() {}
}

/// Where a request's key is.
public enum KeyClaim: Sendable, Equatable {
  /// In the head: this one; nil when it has none.
  case head(String?)
  /// In the body, perhaps: it is asked for when that is read.
  case body
}

/// An answer to a sender. Headers of its own only; the server adds the usual ones.
public struct DialectAnswer: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  /// JSON, or nothing.
  public var body: [UInt8]

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
