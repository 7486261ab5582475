import EventsAPI
import HTTPServer

extension AdminHandler {
  /// `POST /drain`, with `timeout=2s` as `/flush` has it, or `stop`.
  enum DrainWish: Sendable, Equatable {
    case drain(Duration)
    case stop

    static let timeoutMax: Duration = .seconds(60)

    /// - Throws: what is wrong with the query, and what would be right.
    init(query: String?) throws(APIError) {
      self = .drain(.zero)
      for parameter in (query ?? "").split(separator: "&") {
        if parameter == "stop" {
          self = .stop
        } else if parameter.hasPrefix("timeout="),
          let asked = AdminHandler.duration(parameter.dropFirst("timeout=".count)), asked <= Self.timeoutMax
        {
          self = .drain(asked)
        } else {
          throw APIError(
            status: 400, code: "invalid_query",
            message: "/drain takes timeout, a duration such as 500ms or 2s, at most 60s, or stop.")
        }
      }
    }
  }

  func drain(_ exchange: any HTTPExchange) {
    let wish: DrainWish
    do throws(APIError) {
      wish = try DrainWish(query: exchange.query)
    } catch {
      return exchange.respond(.json(error.status, error.body))
    }
    Task { [relay] in
      do throws(RelayError) {
        exchange.respond(.json(200, try await relay.drain(wish).json.utf8))
      } catch {
        exchange.respond(.json(503, APIError.serverError(error.description).body))
      }
    }
  }
}
