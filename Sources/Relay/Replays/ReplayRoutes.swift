import EventsAPI
import HTTPServer
import JSON
import Replay

/// The admin listener's paths about past events.
///
/// | path | what |
/// |---|---|
/// | `GET /replays` | all since the start |
/// | `POST /replays` | starts one, or goes on with it |
/// | `GET /replays/ID` | how one is |
/// | `POST /replays/ID/stop` | stops one |
/// | `POST /dead-letters/replay` | puts dead letters back |
/// | `POST /dead-letters/drop` | removes them |
struct ReplayRoutes: Sendable {
  /// Bytes of a request's body.
  static let bodyMax = 256 << 10

  let office: ReplayOffice

  private enum Route {
    case list, start
    case show(String), stop(String)
    case letters, drop

    init?(_ path: String, _ method: String) {
      let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
      switch (parts.count, parts.first, parts.last) {
      case (1, "replays", _): self = method == "POST" ? .start : .list
      case (2, "replays", let id?): self = .show(id)
      case (3, "replays", "stop"): self = .stop(parts[1])
      case (2, "dead-letters", "replay"): self = .letters
      case (2, "dead-letters", "drop"): self = .drop
      default: return nil
      }
    }

    var methods: [String] {
      switch self {
      case .list, .start: ["GET", "HEAD", "POST"]
      case .show: ["GET", "HEAD"]
      case .stop, .letters, .drop: ["POST"]
      }
    }
  }

  /// The methods a path takes; nil when it is none of these.
  static func methods(of path: String) -> [String]? { Route(path, "GET")?.methods }

  func handle(_ exchange: any HTTPExchange) {
    do throws(APIError) {
      exchange.respond(.json(200, try answer(exchange).utf8))
    } catch {
      exchange.respond(.json(error.status, error.body))
    }
  }

  private func answer(_ exchange: any HTTPExchange) throws(APIError) -> JSONValue {
    let desk = office.desk
    let actor = "\(exchange.method) \(exchange.path)"
    switch Route(exchange.path, exchange.method) {
    case .list: return ["replays": .array(desk.statuses.map(\.json))]
    case .start: return try office.perform(try .replay(body(exchange)), by: actor)
    case .show(let id): return try asAPIError { () throws(ReplayError) in try desk.status(id).json }
    case .stop(let id): return try asAPIError { () throws(ReplayError) in try desk.stop(id).json }
    case .letters: return try office.perform(try .letters(body(exchange)), by: actor)
    case .drop: return try office.perform(try .drop(body(exchange)), by: actor)
    case nil: throw .notFound("Nothing is served at this path.")
    }
  }

  private func asAPIError<Value>(_ body: () throws(ReplayError) -> Value) throws(APIError) -> Value {
    do throws(ReplayError) { return try body() } catch { throw APIError(error) }
  }

  private func body(_ exchange: any HTTPExchange) throws(APIError) -> JSONValue {
    guard let value = try? JSONValue(parsing: exchange.body) else {
      throw .invalidBody("The body must be a JSON object.")
    }
    return value
  }
}
