import Dialects
import Dispatch
import EventsAPI
import HTTPServer
import JSON
import Synchronization

/// `GET /events/EVENT_ID[?timeout=5s]`: one event's whole story, or 404 with where was looked. In the path the id is
/// percent-encoded.
struct PassportRoute: Sendable {
  static let timeout: Duration = .seconds(5)
  static let timeoutMax: Duration = .seconds(60)
  private static let prefix = "/events/"

  /// One search at a time, on a thread that may wait for the disk.
  private let queue = DispatchQueue(label: "events")
  private let search: @Sendable (_ id: String, _ deadline: ContinuousClock.Instant) throws -> JSONValue

  init(_ search: @escaping @Sendable (_ id: String, _ deadline: ContinuousClock.Instant) throws -> JSONValue) {
    self.search = search
  }

  static func isItsPath(_ path: String) -> Bool { path.hasPrefix(prefix) }

  func handle(_ exchange: any HTTPExchange) {
    guard let id = PercentText.decoded(exchange.path.dropFirst(Self.prefix.count)), SoughtID(id) != nil else {
      let rule = PassportError.noID.description
      return respond(
        exchange,
        APIError(
          status: 400, code: "invalid_event_id",
          message: rule.prefix(1).uppercased() + rule.dropFirst()
            + ". In the path what isn't a letter, a digit or one of -._~ is percent-encoded UTF-8."))
    }
    var timeout = Self.timeout
    for parameter in (exchange.query ?? "").split(separator: "&") where parameter.hasPrefix("timeout=") {
      guard let asked = AdminHandler.duration(parameter.dropFirst("timeout=".count)), asked <= Self.timeoutMax else {
        return respond(
          exchange,
          APIError(
            status: 400, code: "invalid_query",
            message: "timeout must be a duration such as 500ms or 5s, at most 60s."))
      }
      timeout = asked
    }
    let limit = timeout
    queue.async {
      do {
        let passport = try search(id, .now + limit)
        exchange.respond(.json(passport["found"]?.bool == true ? 200 : 404, Self.body(passport).utf8))
      } catch {
        respond(exchange, .serverError("The event can't be looked for: \(error).", status: 500))
      }
    }
  }

  private static let unknown =
    "Nothing is known of this event; looked_at says where was looked. (Nothing is kept of events that a deny list keeps out.)"

  /// An event that wasn't found has an error's code and message besides.
  private static func body(_ passport: JSONValue) -> JSONValue {
    guard passport["found"]?.bool != true, let members = passport.members else { return passport }
    return .object(
      [
        .init("code", "not_found"),
        .init("message", .string(unknown)),
      ] + members)
  }

  private func respond(_ exchange: any HTTPExchange, _ error: APIError) {
    exchange.respond(.json(error.status, error.body))
  }
}
