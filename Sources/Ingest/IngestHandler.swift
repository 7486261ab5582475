import Apps
import Clocks
import Dedupe
import EventLog
import EventsAPI
import HTTPServer
import Observability
import Synchronization

/// Takes in events: checks the request against the spec, stores what is right, and answers when it is on stable storage.
///
/// Knows no destination. Runs on the server's threads; the answer leaves from the log's.
public final class IngestHandler: HTTPHandler {
  private let log: any DurableLog
  private let apps: AppRegistry
  private let clock: WallClock
  private let clockTrust: ClockTrust
  private let metrics: IngestMetrics
  private let gate: IngestGate
  private let deduplication: Deduplication?
  private let limit: SenderLimit?
  private let desks = Mutex<[Desk]>([])

  /// What one request is worked on with: a reader and room for its events. As many are made as requests are read at once.
  ///
  /// Unchecked because a desk is only ever used by the thread that took it.
  private final class Desk: @unchecked Sendable {
    let reader = EventsReader()
    var drafts: [DraftEvent] = []
    /// Those of them that aren't duplicates.
    var fresh: [DraftEvent] = []
  }

  /// - Parameters:
  ///   - deduplication: finds what senders repeat; nil: nobody looks.
  ///   - limit: of what one app may send; nil: none.
  public init(
    log: any DurableLog, apps: AppRegistry, clock: WallClock = .system, clockTrust: ClockTrust,
    gate: IngestGate = IngestGate(), deduplication: Deduplication? = nil, limit: SenderLimit? = nil,
    metrics: MetricsRegistry
  ) {
    self.log = log
    self.apps = apps
    self.clock = clock
    self.clockTrust = clockTrust
    self.gate = gate
    self.deduplication = deduplication
    self.limit = limit
    self.metrics = IngestMetrics(metrics)
  }

  public func head(of exchange: any HTTPExchange) -> HeadDecision {
    let fault = Route.fault(
      method: exchange.method, path: exchange.path, contentType: exchange.header("Content-Type"))
    if let fault { return refuse(exchange, fault) }
    if gate.isClosed {
      metrics.countRequest(Route(path: exchange.path), status: 503)
      return .answer(.draining)
    }
    switch admission(of: exchange) {
    case .app: return .readBody(limit: EventsLimits.bodyBytesMax)
    case .missingKey:
      return refuse(exchange, .invalidWriteKey("The X-Write-Key header is missing; send the app's write key in it."))
    case .unknownKey:
      return refuse(exchange, .invalidWriteKey("The X-Write-Key header holds a key that is not known here."))
    case .tooManyKeys:
      metrics.countRequest(Route(path: exchange.path), status: 503)
      return .answer(
        .unavailable("Too many different write keys; list the apps in the configuration.", retryAfterSeconds: 60))
    case .keyNotStored:
      metrics.countRequest(Route(path: exchange.path), status: 503)
      return .answer(.unavailable("The relay's disk does not take this new write key.", retryAfterSeconds: 10))
    }
  }

  public func handle(_ exchange: any HTTPExchange) {
    let started = ContinuousClock.now
    guard gate.enter() else {
      metrics.countRequest(Route(path: exchange.path), status: 503)
      return exchange.respond(.draining)
    }
    let desk = desks.withLock { $0.popLast() } ?? Desk()
    defer { desks.withLock { $0.append(desk) } }
    // The key may have been revoked since the head was read; it is looked up once more rather than kept.
    guard case .app(let app) = admission(of: exchange) else {
      return finish(exchange, .events, started, .error(.invalidWriteKey("The write key is no longer known here.")))
    }
    switch Route(path: exchange.path) {
    case .identify: takeIdentify(exchange, app, desk, started)
    case .events, .other: takeEvents(exchange, app, desk, started)
    }
  }

  public func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    let error: APIError =
      switch fault {
      case .overloaded: .serverError("Too much is being sent at once; try again in a moment.")
      case .bodyTooLarge: .payloadTooLarge
      case .unsupportedEncoding:
        .unsupportedMediaType("Content-Encoding must be gzip, deflate or identity.")
      case .undecodableBody: .invalidBody("The body is not what its Content-Encoding says.")
      case .badFraming(let detail): .invalidBody("The request is not proper HTTP: \(detail).")
      case .bodyTimeout: APIError(status: 408, code: "request_timeout", message: "The body did not come in time.")
      }
    metrics.countRequest(Route(path: exchange.path), status: error.status)
    return .error(error, headers: error.status == 503 ? [("Retry-After", "1")] : [])
  }

  private func admission(of exchange: any HTTPExchange) -> AppAdmission {
    apps.app(forKey: exchange.header("X-Write-Key"))
  }

  private func refuse(_ exchange: any HTTPExchange, _ error: APIError) -> HeadDecision {
    metrics.countRequest(Route(path: exchange.path), status: error.status)
    return .answer(.error(error, headers: error.status == 405 ? [("Allow", "POST")] : []))
  }

  private func finish(
    _ exchange: any HTTPExchange, _ route: Route, _ started: ContinuousClock.Instant, _ response: HTTPResponse
  ) {
    metrics.countRequest(route, status: response.status)
    metrics.requestSeconds.observe(ContinuousClock.now - started)
    exchange.respond(response)
    gate.leave()
  }

  private func takeEvents(
    _ exchange: any HTTPExchange, _ app: App, _ desk: Desk, _ started: ContinuousClock.Instant
  ) {
    let now = clock.now
    let judgesTime = clockTrust.mayJudge(at: now)
    if let error = desk.reader.readBatch(exchange.body, receivedAt: now, judgesTime: judgesTime) {
      return finish(exchange, .events, started, .error(error))
    }
    let counters = metrics.counters(ofApp: app.metricLabel)
    let rejected = desk.reader.rejected.map(\.code)
    let accepted = desk.reader.accepted.count
    let clamped = desk.reader.clamped.count
    var answer: [UInt8] = []
    BatchAnswer.write(
      accepted: accepted, rejected: desk.reader.rejected, clamped: desk.reader.clamped, to: &answer)
    let response = HTTPResponse.json(200, answer)
    guard accepted > 0 else {
      metrics.count(counters, IngestMetrics.Events(rejected: rejected))
      return finish(exchange, .events, started, response)
    }
    guard let taken = take(accepted, of: app, exchange, .events, started) else { return }
    desk.drafts.removeAll(keepingCapacity: true)
    for event in desk.reader.accepted { desk.drafts.append(DraftEvent(event, judgesTime: judgesTime)) }
    desk.drafts.withUnsafeBufferPointer { drafts in
      let draft = FrameDraft(app: app.name, kind: .event, receivedAt: now, body: exchange.body, events: drafts)
      let admission = deduplication?.admit(draft, fresh: &desk.fresh)
      let repeats = admission?.repeats ?? Deduplication.Repeats()
      let completion: @Sendable (AppendOutcome) -> Void = { [self] outcome in
        if case .refused(let refusal) = outcome { return giveUp(exchange, .events, started, taken, refusal) }
        metrics.count(
          counters,
          IngestMetrics.Events(
            accepted: accepted - repeats.events, duplicates: repeats.events, conflicts: repeats.conflicts,
            clamped: clamped - repeats.clamped, rejected: rejected))
        finish(exchange, .events, started, response)
      }
      guard let deduplication, let admission else { return log.append(draft, completion: completion) }
      deduplication.append(desk.fresh, of: draft, admission, to: log, completion: completion)
    }
  }

  private func takeIdentify(
    _ exchange: any HTTPExchange, _ app: App, _ desk: Desk, _ started: ContinuousClock.Instant
  ) {
    let now = clock.now
    switch desk.reader.readIdentify(exchange.body, receivedAt: now) {
    case .failure(let error): finish(exchange, .identify, started, .error(error))
    case .success(let link):
      guard let taken = take(1, of: app, exchange, .identify, started) else { return }
      desk.drafts.removeAll(keepingCapacity: true)
      desk.drafts.append(DraftEvent(link, judgesTime: true))
      // (An identify call has no id, and is never a duplicate.)
      desk.drafts.withUnsafeBufferPointer { drafts in
        let draft = FrameDraft(app: app.name, kind: .identify, receivedAt: now, body: exchange.body, events: drafts)
        log.append(draft) { [self] outcome in
          if case .refused(let refusal) = outcome { return giveUp(exchange, .identify, started, taken, refusal) }
          finish(exchange, .identify, started, HTTPResponse(status: 204))
        }
      }
    }
  }

  /// Counts a request's events against the app's limit, or answers that there are too many.
  /// - Returns: nil when the request is answered; what was counted, nil without a limit, else.
  private func take(
    _ events: Int, of app: App, _ exchange: any HTTPExchange, _ route: Route, _ started: ContinuousClock.Instant
  ) -> SenderLimit.Taken?? {
    guard let limit else { return .some(nil) }
    switch limit.take(events, of: app.name) {
    case .taken(let taken): return .some(taken)
    case .refused(let seconds):
      finish(exchange, route, started, .rateLimited(retryAfterSeconds: seconds))
      return nil
    }
  }

  /// Nothing of the request was stored: it doesn't count against the app's limit either.
  private func giveUp(
    _ exchange: any HTTPExchange, _ route: Route, _ started: ContinuousClock.Instant, _ taken: SenderLimit.Taken?,
    _ refusal: AppendRefusal
  ) {
    if let taken { limit?.giveBack(taken) }
    finish(exchange, route, started, .refusal(refusal))
  }
}

extension DraftEvent {
  /// An event that passed the rules, as the log takes it.
  init(_ event: AcceptedEvent, judgesTime: Bool) {
    self.init(index: EventIndex(event, judgesTime: judgesTime), offset: event.offset)
  }
}

extension EventIndex {
  /// What the log knows of an event that passed the rules.
  public init(_ event: AcceptedEvent, judgesTime: Bool) {
    var flags: EventIndex.Flags = []
    if event.isClamped { flags.insert(.clamped) }
    if event.hasLineBreaks { flags.insert(.lineBreaks) }
    if event.hasUser { flags.insert(.hasUser) }
    if !judgesTime { flags.insert(.unjudged) }
    self.init(
      idHigh: event.idHigh, idLow: event.idLow, installHash: event.installHash, userHash: event.userHash,
      length: event.length, nameOffset: event.nameOffset, occurredAtOffset: event.occurredAtOffset,
      occurredAt: event.occurredAt, flags: flags)
  }
}
