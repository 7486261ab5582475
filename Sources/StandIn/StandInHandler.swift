import Dialects
import EventsAPI
import HTTPServer

/// The stand-in's HTTP: the routes of its protocols, and what shows what they stored.
struct StandInHandler: HTTPHandler {
  let core: StandInCore

  private enum Page { case events, stats }

  func head(of exchange: any HTTPExchange) -> HeadDecision {
    if let served = core[exchange.path] {
      if served.route.isForBrowsers, exchange.method == "OPTIONS" { return .answer(Self.preflight(exchange)) }
      // A failure that was ordered comes before every other answer, and every answer is late when that was ordered.
      if core.configuration.latency == .zero, !core.isFailureArmed, let refusal = refusal(of: exchange, served) {
        core.count(refusal.status, served)
        return .answer(refusal)
      }
      return .readBody(limit: served.route.bodyBytesMax)
    }
    guard Self.page(of: exchange) != nil else {
      let paths = core.configuration.protocols.flatMap(\.incoming.routes).map(\.path) + ["/events", "/stats"]
      return .answer(response(.notFound("There is nothing here; see \(paths.joined(separator: ", ")).")))
    }
    guard exchange.method == "GET" || exchange.method == "HEAD" else {
      return .answer(response(Self.notAllowed("GET, HEAD"), headers: [("Allow", "GET, HEAD")]))
    }
    return .readBody(limit: 0)
  }

  func handle(_ exchange: any HTTPExchange) {
    guard let served = core[exchange.path] else { return exchange.respond(show(exchange)) }
    var response = answer(served, exchange)
    core.count(response.status, served)
    if served.route.isForBrowsers, let origin = exchange.header("Origin") {
      response.headers.append(("Access-Control-Allow-Origin", origin))
    }
    guard core.configuration.latency > .zero else { return exchange.respond(response) }
    let (latency, late) = (core.configuration.latency, response)
    Task {
      try? await Task.sleep(for: latency)
      exchange.respond(late)
    }
  }

  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    let served = core[exchange.path]
    let error: APIError =
      switch fault {
      case .bodyTooLarge: served.map { .payloadTooLarge(bytesMax: $0.route.bodyBytesMax) } ?? .payloadTooLarge
      case .unsupportedEncoding: .unsupportedMediaType("Content-Encoding may be gzip, deflate or identity.")
      case .undecodableBody: .invalidBody("The body is not what its Content-Encoding says.")
      case .badFraming(let detail): .invalidBody("The request's end can't be told: \(detail).")
      case .bodyTimeout: APIError(status: 408, code: "request_timeout", message: "The body took too long.")
      case .overloaded: .serverError("Too much at once; come again.")
      }
    let response = response(error, served?.dialect, retryAfter: fault == .overloaded ? 1 : nil)
    if let served { core.count(response.status, served) }
    return response
  }

  // MARK: The protocols

  private func answer(_ served: StandInCore.Served, _ exchange: any HTTPExchange) -> HTTPResponse {
    if let failure = core.takeForcedFailure(served.dialect) { return HTTPResponse(failure) }
    if let refusal = refusal(of: exchange, served) { return refusal }
    return HTTPResponse(core.answer(served, ExchangeRequest(exchange: exchange), body: exchange.body))
  }

  /// What is wrong with a request before its body is looked at.
  private func refusal(of exchange: any HTTPExchange, _ served: StandInCore.Served) -> HTTPResponse? {
    guard exchange.method == "POST" else {
      let methods = served.route.isForBrowsers ? "OPTIONS, POST" : "POST"
      return response(Self.notAllowed("POST"), served.dialect, headers: [("Allow", methods)])
    }
    guard Self.isJSON(exchange.header("Content-Type")) else {
      return response(.unsupportedMediaType("Content-Type must be application/json."), served.dialect)
    }
    guard
      case .head(let key) = served.dialect.incoming.keyClaim(of: ExchangeRequest(exchange: exchange), served.route)
    else { return nil }
    return core.refusal(ofKey: key, served).map { response($0, served.dialect) }
  }

  /// A web page of any origin may post here.
  private static func preflight(_ exchange: any HTTPExchange) -> HTTPResponse {
    HTTPResponse(
      status: 204,
      headers: [
        ("Access-Control-Allow-Origin", exchange.header("Origin") ?? "*"), ("Access-Control-Allow-Methods", "POST"),
        ("Access-Control-Allow-Headers", exchange.header("Access-Control-Request-Headers") ?? "Content-Type"),
        ("Vary", "Origin"),
      ])
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
        return response(
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
      return response(.serverError("What was stored can't be read now."))
    }
  }

  // MARK: Answers

  /// An error in a protocol's form; of a path that is none's, in the first one's.
  private func response(
    _ error: APIError, _ dialect: (any Dialect)? = nil, headers: [(name: String, value: String)] = [],
    retryAfter: Int? = nil
  ) -> HTTPResponse {
    var response = HTTPResponse(
      (dialect ?? core.configuration.protocols.first ?? DialectRegistry.usual).answer(error, retryAfter: retryAfter))
    response.headers += headers
    return response
  }

  private static func notAllowed(_ methods: String) -> APIError {
    .methodNotAllowed("Only \(methods) is answered here.")
  }
}

/// A request of the server's, as protocols look at it.
private struct ExchangeRequest: IncomingRequest {
  let exchange: any HTTPExchange

  var method: String { exchange.method }
  var path: String { exchange.path }
  func header(_ name: StaticString) -> String? { exchange.header(name) }
}

extension HTTPResponse {
  fileprivate init(_ answer: DialectAnswer) {
    self =
      answer.body.isEmpty
      ? HTTPResponse(status: answer.status, headers: answer.headers)
      : .json(answer.status, answer.body, headers: answer.headers)
  }
}
