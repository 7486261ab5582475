import EventsAPI
import HTTPServer

/// The stand-in's HTTP: the API's two routes, and what shows what they stored.
struct StandInHandler: HTTPHandler {
  let core: StandInCore

  private enum Page { case events, stats }

  func head(of exchange: any HTTPExchange) -> HeadDecision {
    if let route = Self.route(of: exchange) {
      // A failure that was ordered comes before every other answer, and every answer is late when that was ordered.
      if core.configuration.latency == .zero, !core.isFailureArmed, let refusal = refusal(of: exchange) {
        core.count(refusal.status, route)
        return .answer(refusal)
      }
      return .readBody(limit: EventsLimits.bodyBytesMax)
    }
    guard Self.page(of: exchange) != nil else {
      return .answer(Self.response(.notFound("There is nothing here; see /v1/events, /v1/identify, /events, /stats.")))
    }
    guard exchange.method == "GET" || exchange.method == "HEAD" else {
      return .answer(Self.notAllowed("GET, HEAD"))
    }
    return .readBody(limit: 0)
  }

  func handle(_ exchange: any HTTPExchange) {
    guard let route = Self.route(of: exchange) else { return exchange.respond(show(exchange)) }
    let response = answer(route, exchange)
    core.count(response.status, route)
    guard core.configuration.latency > .zero else { return exchange.respond(response) }
    let latency = core.configuration.latency
    Task {
      try? await Task.sleep(for: latency)
      exchange.respond(response)
    }
  }

  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    let response =
      switch fault {
      case .bodyTooLarge: Self.response(.payloadTooLarge)
      case .unsupportedEncoding:
        Self.response(.unsupportedMediaType("Content-Encoding may be gzip, deflate or identity."))
      case .undecodableBody: Self.response(.invalidBody("The body is not what its Content-Encoding says."))
      case .badFraming(let detail): Self.response(.invalidBody("The request's end can't be told: \(detail)."))
      case .bodyTimeout:
        Self.response(APIError(status: 408, code: "request_timeout", message: "The body took too long."))
      case .overloaded: Self.response(.serverError("Too much at once; come again."), retryAfter: 1)
      }
    if let route = Self.route(of: exchange) { core.count(response.status, route) }
    return response
  }

  // MARK: The API

  private static func route(of exchange: any HTTPExchange) -> APIRoute? {
    APIRoute.allCases.first { $0.path == exchange.path }
  }

  private func answer(_ route: APIRoute, _ exchange: any HTTPExchange) -> HTTPResponse {
    if let failure = core.takeForcedFailure() { return Self.response(failure) }
    if let refusal = refusal(of: exchange) { return refusal }
    return Self.response(core.answer(route, key: exchange.header("X-Write-Key") ?? "", body: exchange.body))
  }

  /// What is wrong with a request before its body is looked at.
  private func refusal(of exchange: any HTTPExchange) -> HTTPResponse? {
    guard exchange.method == "POST" else { return Self.notAllowed("POST") }
    guard Self.isJSON(exchange.header("Content-Type")) else {
      return Self.response(.unsupportedMediaType("Content-Type must be application/json."))
    }
    guard let key = exchange.header("X-Write-Key"), !key.isEmpty else {
      return Self.response(.invalidWriteKey("The header X-Write-Key is missing."))
    }
    guard core.configuration.keys?.contains(key) ?? true else {
      return Self.response(.invalidWriteKey("This write key is unknown or revoked."))
    }
    return nil
  }

  /// `application/json`, `application/…+json`, or nothing said.
  static func isJSON(_ contentType: String?) -> Bool {
    guard let contentType else { return true }
    let type = contentType.prefix { $0 != ";" }.lowercased()
    let words = type.split { $0 == " " || $0 == "\t" }
    guard words.count == 1 else { return words.isEmpty }
    return words[0] == "application/json" || (words[0].hasPrefix("application/") && words[0].hasSuffix("+json"))
  }

  // MARK: What was stored

  private static func page(of exchange: any HTTPExchange) -> Page? {
    switch exchange.path {
    case "/events": .events
    case "/stats": .stats
    default: nil
    }
  }

  private func show(_ exchange: any HTTPExchange) -> HTTPResponse {
    guard Self.page(of: exchange) == .events else { return .json(200, core.statisticsBody) }
    var offset: UInt64 = 0
    var limit = StandInCore.pageLimit
    var asLines = false
    for pair in (exchange.query ?? "").split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? String(parts[1]) : ""
      switch (parts[0], value) {
      case ("offset", _) where UInt64(value) != nil: offset = UInt64(value) ?? 0
      case ("limit", _) where (1...StandInCore.pageLimitMax).contains(Int(value) ?? 0):
        limit = Int(value) ?? limit
      case ("format", "ndjson"): asLines = true
      case ("format", "json"): asLines = false
      default:
        return Self.response(
          APIError(
            status: 400, code: "invalid_parameter",
            message: "Parameters are offset=0…, limit=1…\(StandInCore.pageLimitMax), format=json|ndjson."))
      }
    }
    do throws(StandInError) {
      let body = try core.listing(from: offset, limit: limit, asLines: asLines)
      guard asLines else { return .json(200, body) }
      return HTTPResponse(status: 200, headers: [("Content-Type", "application/x-ndjson")], body: body)
    } catch {
      core.logger.error("the stand-in can't read what it stored", about: error.description)
      return Self.response(.serverError("What was stored can't be read now."))
    }
  }

  // MARK: Answers

  private static func response(_ answer: StandInCore.Answer) -> HTTPResponse {
    let headers = answer.retryAfter.map { [(name: "Retry-After", value: "\($0)")] } ?? []
    if answer.body.isEmpty { return HTTPResponse(status: answer.status, headers: headers) }
    return .json(answer.status, answer.body, headers: headers)
  }

  private static func response(_ error: APIError, retryAfter: Int? = nil) -> HTTPResponse {
    response(StandInCore.Answer(error, retryAfter: retryAfter))
  }

  private static func notAllowed(_ methods: String) -> HTTPResponse {
    .json(405, APIError.methodNotAllowed("Only \(methods) is answered here.").body, headers: [("Allow", methods)])
  }
}
