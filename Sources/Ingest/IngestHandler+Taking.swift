import Apps
import Clocks
import Dedupe
import Dialects
import EventLog
import EventsAPI
import HTTPServer

// From a body to stored events.
extension IngestHandler {
  /// What a request brings, for what is done when it is stored.
  private struct Haul: Sendable {
    let app: App
    let counters: IngestMetrics.AppCounters
    /// What the sender is told.
    let response: HTTPResponse
    /// The events' fate, as far as it is known.
    var events: IngestMetrics.Events
    var taken: SenderLimit.Taken?
  }

  /// Reads a request's body and has its events stored; answers it later, or now.
  ///
  /// - Throws: why it isn't taken; then it isn't answered.
  func take(_ visit: Visit, _ desk: Desk) throws(Refusal) {
    let now = clock.now
    let judgesTime = clockTrust.mayJudge(at: now)
    let request = ServedRequest(exchange: visit.exchange)
    let reader = desk.reader
    let claim = visit.dialect.incoming.keyClaim(of: request, visit.route)
    var app: App?
    // The key may have been revoked since the head was read; it is looked up once more rather than kept.
    if case .head(let key) = claim { app = try admit(key, by: visit.dialect, visit.route) }
    let fault = reader.read(
      visit.exchange.body, of: request, visit.route, receivedAt: now, judgesTime: judgesTime)
    // (Who may not send is told so first, and not what is wrong with what it sends.)
    let admitted: App = if let app { app } else { try admit(reader.bodyKey, fault, visit) }
    if let fault { throw Refusal(fault) }
    if visit.route.isForBrowsers, let origin = visit.exchange.header("Origin"),
      admitted.rules?.allows(origin: origin) != true
    {
      throw .foreignOrigin
    }
    try store(visit, desk, admitted, now, judgesTime: judgesTime)
  }

  private func admit(_ key: BodyKey, _ fault: APIError?, _ visit: Visit) throws(Refusal) -> App {
    switch key {
    case .unknown: throw Refusal(fault ?? .invalidBody("The body can't be read."))
    case .missing: try admit(nil, by: visit.dialect, visit.route)
    case .key(let key): try admit(key, by: visit.dialect, visit.route)
    case .refused(let why): throw Refusal(.invalidWriteKey(why))
    }
  }

  private func store(
    _ visit: Visit, _ desk: Desk, _ app: App, _ now: Timestamp, judgesTime: Bool
  ) throws(Refusal) {
    let reader = desk.reader
    let accepted = reader.accepted
    var haul = Haul(
      app: app, counters: metrics.counters(ofApp: app.metricLabel), response: HTTPResponse(reader.answer()),
      events: IngestMetrics.Events(
        accepted: reader.kind == .event ? accepted.count : 0, clamped: reader.clampedCount,
        rejected: reader.rejectedCodes))
    desk.drafts.removeAll(keepingCapacity: true)
    for event in accepted where !isDenied(event, of: app, in: reader.storedBody) {
      desk.drafts.append(DraftEvent(index: EventIndex(event, judgesTime: judgesTime), offset: event.offset))
    }
    let suppressed = accepted.count - desk.drafts.count
    if suppressed > 0 {
      haul.events.suppressed = suppressed
      haul.events.accepted = max(0, haul.events.accepted - suppressed)
      haul.events.clamped = desk.drafts.count { $0.index.flags.contains(.clamped) }
    }
    guard !desk.drafts.isEmpty else { return settle(visit, haul) }
    if let limit {
      switch limit.take(desk.drafts.count, of: app.name) {
      case .taken(let taken): haul.taken = taken
      case .refused(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
      }
    }
    append(visit, desk, haul, now)
  }

  private func append(_ visit: Visit, _ desk: Desk, _ haul: Haul, _ now: Timestamp) {
    let reader = desk.reader
    desk.drafts.withUnsafeBufferPointer { drafts in
      let draft = FrameDraft(
        app: haul.app.name, kind: reader.kind, dialect: visit.dialect.number, receivedAt: now, body: reader.storedBody,
        events: drafts, envelope: reader.envelope)
      // (An identify call has no id, and is never a duplicate.)
      let deduplication = reader.kind == .event ? deduplication : nil
      let admission = deduplication?.admit(draft, fresh: &desk.fresh)
      let completion: @Sendable (AppendOutcome) -> Void = { [self] outcome in
        if case .refused(let refusal) = outcome { return giveUp(visit, haul, Refusal(refusal)) }
        var haul = haul
        if let repeats = admission?.repeats {
          haul.events.accepted -= repeats.events
          haul.events.duplicates = repeats.events
          haul.events.conflicts = repeats.conflicts
          haul.events.clamped -= repeats.clamped
        }
        settle(visit, haul)
      }
      guard let deduplication, let admission else { return log.append(draft, completion: completion) }
      deduplication.append(desk.fresh, of: draft, admission, to: log, completion: completion)
    }
  }

  /// What was to be stored is; what a deny list keeps out is counted, and the sender is answered.
  private func settle(_ visit: Visit, _ haul: Haul) {
    guard haul.events.suppressed > 0, let suppression else { return answer(visit, haul) }
    suppression.add(haul.events.suppressed, app: haul.app.name) { [self] isCounted in
      guard isCounted else {
        return giveUp(
          visit, haul,
          .unavailable("The relay's disk does not take what has to be noted of this request.", retryAfterSeconds: 10))
      }
      answer(visit, haul)
    }
  }

  private func answer(_ visit: Visit, _ haul: Haul) {
    metrics.count(haul.counters, haul.events)
    finish(visit, haul.response)
  }

  /// The request is refused after all: it doesn't count against the app's limit either.
  private func giveUp(_ visit: Visit, _ haul: Haul, _ refusal: Refusal) {
    if let taken = haul.taken { limit?.giveBack(taken) }
    finish(visit, HTTPResponse(refusal, visit.dialect))
  }

  private func isDenied(_ event: AcceptedEvent, of app: App, in body: UnsafeRawBufferPointer) -> Bool {
    guard let denied = app.rules?.denied else { return false }
    return denied.mayHold(event.installHash) && denied.holds(event.anonymousID(in: body), hash: event.installHash)
      || event.hasUser && denied.mayHold(event.userHash)
        && denied.holds(event.userID(in: body) ?? "", hash: event.userHash)
  }
}
