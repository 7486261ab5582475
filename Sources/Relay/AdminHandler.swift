import EventLog
import EventsAPI
import HTTPServer
import JSON
import Observability

/// Health, metrics, status, and the few things that can be told to a running relay.
final class AdminHandler: HTTPHandler {
  /// What the handler asks of the relay.
  struct Relay: Sendable {
    var live: @Sendable () -> HealthReport
    var ready: @Sendable () -> HealthReport
    var whole: @Sendable () -> HealthReport
    var status: @Sendable () -> JSONValue
    var flush: @Sendable (_ timeout: Duration) async -> FlushResult
    var deadLetters: @Sendable (_ query: String?) -> Result<[UInt8], APIError>
    /// Reads the configuration anew: what took effect, or the faults.
    var reload: @Sendable () async -> ReloadOutcome
    /// Takes no more events in and sends what waits, or ends that.
    var drain: @Sendable (DrainWish) async throws(RelayError) -> Drainer.Progress
    /// What is served about past events.
    var replays: ReplayRoutes
    /// One event's story.
    var passport: PassportRoute
  }

  /// Bytes of a body that the admin listener takes: few of its requests have one.
  private static let bodyMax = 4096
  private static let flushTimeout: Duration = .seconds(2)
  private static let flushTimeoutMax: Duration = .seconds(60)

  private let gate: AdminGate
  private let metrics: MetricsRegistry
  let relay: Relay

  init(gate: AdminGate, metrics: MetricsRegistry, relay: Relay) {
    self.gate = gate
    self.metrics = metrics
    self.relay = relay
  }

  private enum Resource: String {
    case livez = "/livez"
    case readyz = "/readyz"
    case healthz = "/healthz"
    case metrics = "/metrics"
    case status = "/status"
    case flush = "/flush"
    case reload = "/reload"
    case drain = "/drain"
    case deadLetters = "/dead-letters"

    var method: String {
      switch self {
      case .flush, .reload, .drain: "POST"
      default: "GET"
      }
    }
  }

  func head(of exchange: any HTTPExchange) -> HeadDecision {
    if let refusal = gate.refusal(of: exchange) {
      let headers = refusal.status == 401 ? [(name: "WWW-Authenticate", value: "Bearer")] : []
      var answer = Self.error(refusal, headers)
      // Over another connection it may be let in.
      answer.closesConnection = refusal.status == 421
      return .answer(answer)
    }
    if let methods = ReplayRoutes.methods(of: exchange.path) {
      if methods.contains(exchange.method) { return .readBody(limit: ReplayRoutes.bodyMax) }
      let allowed = methods.joined(separator: ", ")
      return .answer(
        Self.error(.methodNotAllowed("\(exchange.path) is asked with \(allowed)."), [("Allow", allowed)]))
    }
    if PassportRoute.isItsPath(exchange.path) {
      if exchange.method == "GET" || exchange.method == "HEAD" { return .readBody(limit: Self.bodyMax) }
      return .answer(Self.error(.methodNotAllowed("/events/ID is asked with GET, HEAD."), [("Allow", "GET, HEAD")]))
    }
    guard let resource = Resource(rawValue: exchange.path) else {
      return .answer(Self.error(.notFound("Nothing is served at this path.")))
    }
    guard exchange.method == resource.method || (exchange.method == "HEAD" && resource.method == "GET") else {
      let allowed = resource.method == "GET" ? "GET, HEAD" : resource.method
      return .answer(
        Self.error(.methodNotAllowed("\(resource.rawValue) is asked with \(allowed)."), [("Allow", allowed)]))
    }
    return .readBody(limit: Self.bodyMax)
  }

  func handle(_ exchange: any HTTPExchange) {
    switch Resource(rawValue: exchange.path) {
    case .livez: exchange.respond(Self.health(relay.live()))
    case .readyz: exchange.respond(Self.health(relay.ready()))
    case .healthz: exchange.respond(Self.health(relay.whole()))
    case .metrics:
      exchange.respond(
        HTTPResponse(
          status: 200, headers: [("Content-Type", MetricsRegistry.prometheusContentType)],
          body: Array(metrics.renderPrometheus().utf8)))
    case .status: exchange.respond(.json(200, relay.status().utf8))
    case .flush: flush(exchange)
    case .reload: reload(exchange)
    case .drain: drain(exchange)
    case .deadLetters:
      switch relay.deadLetters(exchange.query) {
      case .success(let lines):
        exchange.respond(
          HTTPResponse(status: 200, headers: [("Content-Type", "application/x-ndjson")], body: lines))
      case .failure(let error): exchange.respond(Self.error(error))
      }
    case nil where PassportRoute.isItsPath(exchange.path): relay.passport.handle(exchange)
    case nil: relay.replays.handle(exchange)
    }
  }

  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    switch fault {
    case .bodyTooLarge(let limit):
      Self.error(
        APIError(
          status: 413, code: "payload_too_large", message: "A body of at most \(limit) bytes is taken here."))
    case .unsupportedEncoding: Self.error(.unsupportedMediaType("Content-Encoding must be gzip, deflate or identity."))
    case .undecodableBody: Self.error(.invalidBody("The body is not what its Content-Encoding says."))
    case .badFraming(let detail): Self.error(.invalidBody("The request is not proper HTTP: \(detail)."))
    case .overloaded:
      Self.error(.serverError("Too much is being sent at once; try again in a moment."), [("Retry-After", "1")])
    case .bodyTimeout:
      Self.error(APIError(status: 408, code: "request_timeout", message: "The body did not come in time."))
    }
  }

  private func flush(_ exchange: any HTTPExchange) {
    var timeout = Self.flushTimeout
    for parameter in (exchange.query ?? "").split(separator: "&") where parameter.hasPrefix("timeout=") {
      guard let asked = Self.duration(parameter.dropFirst("timeout=".count)), asked <= Self.flushTimeoutMax else {
        let error = APIError(
          status: 400, code: "invalid_query", message: "timeout must be a duration such as 500ms or 2s, at most 60s.")
        return exchange.respond(Self.error(error))
      }
      timeout = asked
    }
    let limit = timeout
    Task {
      let result = await relay.flush(limit)
      exchange.respond(
        .json(
          200,
          JSONValue.object([.init("flushed", JSONValue(result.flushed)), .init("pending", JSONValue(result.pending))])
            .utf8))
    }
  }

  private func reload(_ exchange: any HTTPExchange) {
    Task {
      let outcome = await relay.reload()
      exchange.respond(.json(outcome.status, outcome.json.utf8))
    }
  }

  /// Milliseconds, seconds or minutes: `500ms`, `2s`, `1m`.
  static func duration(_ text: some StringProtocol) -> Duration? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let amount = Int64(digits), amount <= 1_000_000_000 else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": return .milliseconds(amount)
    case "s": return .seconds(amount)
    case "m": return .seconds(amount * 60)
    default: return nil
    }
  }

  private static func health(_ report: HealthReport) -> HTTPResponse { .json(report.isOK ? 200 : 503, report.body) }

  private static func error(_ error: APIError, _ headers: [(name: String, value: String)] = []) -> HTTPResponse {
    .json(error.status, error.body, headers: headers)
  }
}
