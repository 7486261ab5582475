import Apps
import Clocks
import Dedupe
import Dialects
import EventLog
import EventsAPI
import HTTPServer
import Observability
import Synchronization

/// Takes in events: checks the request against its protocol's rules, stores what is right, and answers when it is on stable
/// storage.
///
/// Knows no destination, and of protocols only that there are some. Runs on the server's threads; the answer leaves from the
/// log's.
public final class IngestHandler: HTTPHandler {
  let log: any DurableLog
  let apps: AppRegistry
  let clock: WallClock
  let clockTrust: ClockTrust
  let metrics: IngestMetrics
  let gate: IngestGate
  let deduplication: Deduplication?
  let limit: SenderLimit?
  let suppression: (any SuppressionLedger)?
  private let routes: DialectRoutes
  private let desks: DeskStore

  /// - Parameters:
  ///   - deduplication: finds what senders repeat; nil: nobody looks.
  ///   - limit: of what one app may send; nil: none.
  ///   - suppression: counts what deny lists keep out; nil: without deny lists.
  ///   - dialects: the protocols that are spoken where an app has them.
  public init(
    log: any DurableLog, apps: AppRegistry, clock: WallClock = .system, clockTrust: ClockTrust,
    gate: IngestGate = IngestGate(), deduplication: Deduplication? = nil, limit: SenderLimit? = nil,
    suppression: (any SuppressionLedger)? = nil, dialects: [any Dialect] = DialectRegistry.all,
    metrics: MetricsRegistry
  ) {
    self.log = log
    self.apps = apps
    self.clock = clock
    self.clockTrust = clockTrust
    self.gate = gate
    self.deduplication = deduplication
    self.limit = limit
    self.suppression = suppression
    routes = DialectRoutes(dialects)
    desks = DeskStore()
    self.metrics = IngestMetrics(metrics, rejectionCodes: dialects.flatMap(\.incoming.rejectionCodes))
  }

  public func head(of exchange: any HTTPExchange) -> HeadDecision {
    guard let served = routes[exchange.path] else {
      let paths = routes.paths(ofDialects: apps.speaks)
      let nothing = "Nothing is served at this path; events are posted to \(paths)."
      return .answer(refusal(Refusal(.notFound(nothing)), exchange, nil))
    }
    do throws(Refusal) {
      if let answer = try answer(toHeadOf: exchange, served) { return answer }
      return .readBody(limit: served.route.bodyBytesMax)
    } catch {
      return .answer(refusal(error, exchange, served))
    }
  }

  /// Says what is wrong with a request's head, or answers it by that alone; nil when its body is to be read.
  private func answer(toHeadOf exchange: any HTTPExchange, _ served: DialectRoutes.Served) throws(Refusal)
    -> HeadDecision?
  {
    let (dialect, route) = (served.dialect, served.route)
    guard apps.speaks(dialect.number) else {
      throw Refusal(
        .notFound(
          "\(route.path) is of \(dialect.title), which no app here speaks; give an app \"protocol: \(dialect.name)\" in the "
            + "relay's configuration."))
    }
    if route.isForBrowsers, exchange.method == "OPTIONS" {
      guard let origin = origin(of: exchange, served) else { throw .foreignOrigin }
      metrics.countRequest(route.path, status: 204)
      return .answer(CrossOrigin.preflight(origin))
    }
    guard exchange.method == "POST" else {
      throw Refusal(
        .methodNotAllowed("Only POST is served at \(route.path)."),
        headers: [("Allow", route.isForBrowsers ? "OPTIONS, POST" : "POST")])
    }
    guard DialectRoutes.isJSON(exchange.header("Content-Type")) else {
      throw Refusal(.unsupportedMediaType("The body must be application/json; send that as Content-Type."))
    }
    if gate.isClosed { throw .draining }
    if case .head(let key) = dialect.incoming.keyClaim(of: ServedRequest(exchange: exchange), route) {
      _ = try admit(key, by: dialect, route)
    }
    return nil
  }

  public func handle(_ exchange: any HTTPExchange) {
    guard let served = routes[exchange.path] else { preconditionFailure("a request of no route has no body") }
    let visit = Visit(
      exchange: exchange, dialect: served.dialect, route: served.route, began: .now,
      origin: origin(of: exchange, served))
    guard gate.enter() else { return exchange.respond(refusal(.draining, exchange, served)) }
    let desk = desks.take(visit.dialect)
    defer { desks.giveBack(desk, visit.dialect) }
    do throws(Refusal) {
      try take(visit, desk)
    } catch {
      finish(visit, HTTPResponse(error, visit.dialect))
    }
  }

  public func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    let served = routes[exchange.path]
    return refusal(
      Refusal(fault, bodyBytesMax: served?.route.bodyBytesMax ?? EventsLimits.bodyBytesMax), exchange, served)
  }

  /// The page's origin, when one posts that may by any app: it is to read the answer, be it a refusal.
  private func origin(of exchange: any HTTPExchange, _ served: DialectRoutes.Served) -> String? {
    guard served.route.isForBrowsers, let origin = exchange.header("Origin") else { return nil }
    return apps.allows(origin: origin, dialect: served.dialect.number) ? origin : nil
  }

  /// The app that a key belongs to, among those that speak the protocol.
  func admit(_ key: String?, by dialect: any Dialect, _ route: IncomingRoute) throws(Refusal) -> App {
    let place = dialect.incoming.keyPlace(route)
    switch apps.app(forKey: key, dialect: dialect.number) {
    case .app(let app): return app
    case .missingKey: throw Refusal(.invalidWriteKey("\(place) is missing; send the app's key in it."))
    case .unknownKey: throw Refusal(.invalidWriteKey("\(place) holds a key that is not known here."))
    case .otherProtocol(let number):
      throw Refusal(
        .invalidWriteKey(
          "\(place) holds the key of an app that speaks \(DialectRegistry.name(of: number)), and this is a route of "
            + "\(dialect.name)."))
    case .tooManyKeys:
      throw .unavailable(
        "Too many different write keys; list the apps in the configuration.", retryAfterSeconds: 60)
    case .keyNotStored:
      throw .unavailable("The relay's disk does not take this new write key.", retryAfterSeconds: 10)
    }
  }

  /// A refusal in the form of the protocol whose path it is, counted.
  private func refusal(
    _ refusal: Refusal, _ exchange: any HTTPExchange, _ served: DialectRoutes.Served?
  ) -> HTTPResponse {
    metrics.countRequest(routes.label(of: exchange.path), status: refusal.error.status)
    var response = HTTPResponse(refusal, served?.dialect ?? DialectRegistry.usual)
    if let origin = served.flatMap({ origin(of: exchange, $0) }) { response.headers += CrossOrigin.headers(origin) }
    return response
  }

  func finish(_ visit: Visit, _ response: HTTPResponse) {
    metrics.countRequest(visit.label, status: response.status)
    metrics.requestSeconds.observe(ContinuousClock.now - visit.began)
    var response = response
    if let origin = visit.origin { response.headers += CrossOrigin.headers(origin) }
    visit.exchange.respond(response)
    gate.leave()
  }
}

/// A request whose body is there.
struct Visit: Sendable {
  let exchange: any HTTPExchange
  let dialect: any Dialect
  let route: IncomingRoute
  let began: ContinuousClock.Instant
  /// The page that posts, when it is one of an origin that may.
  var origin: String?

  var label: String { route.path }
}

extension Refusal {
  static var foreignOrigin: Refusal {
    Refusal(
      APIError(
        status: 403, code: "origin_not_allowed",
        message: "No app lets pages of this origin post; list it in the app's \"origins\" in the relay's configuration."
      ))
  }
}
