import Clocks
import EventLog
import EventsAPI
import Observability

// Failures and what ends them.
extension UpstreamEngine {
  /// Lets the lane wait before the next try.
  ///
  /// - Parameters:
  ///   - flight: what failed; one that was sent before the last failure is no further one.
  ///   - asked: what the upstream asked for.
  ///   - isOutage: nobody can send now.
  ///   - kind: what failures have in common of which only the first is logged; nil: the detail.
  func fail(
    _ lane: DeliveryLane, _ flight: Flight?, _ state: DestinationStatus.State, _ detail: String,
    _ asked: RetryAfter? = nil, isRateLimited: Bool = false, isOutage: Bool = false, kind: String? = nil
  ) {
    let detail = String(String.UnicodeScalarView(detail.unicodeScalars.prefix(Self.detailLengthMax)))
    if let flight, !lane.state.isNews(flight.began) {
      return lengthen(lane, flight, state, detail, asked, isRateLimited: isRateLimited)
    }
    let upstream = flight?.upstream ?? lane.upstream
    let length = lane.state.failed(
      upstream.outgoing, upstream.configuration.retry.delays, retryAfter: asked, isRateLimited: isRateLimited,
      roll: context.roll())
    if let asked, asked.wasCut, isNews(.longRetryAfter, of: lane.app) {
      context.logger.warning(
        "the upstream's Retry-After is over an hour; one hour is waited", about: UpstreamContext.destination,
        ["app": .text(lane.app)])
    }
    let fields: KeyValuePairs<String, LogValue> = [
      "app": .text(lane.app), "reason": .text(detail), "retry_in": .seconds(length.seconds),
    ]
    let isNews = lane.isNews(kind ?? detail)
    let outlet = flight?.outlet ?? lane.outlet
    if isOutage, outlet.outageSince == nil {
      outlet.outageSince = now
      context.logger.warning("the upstream can't be reached; events wait", about: UpstreamContext.destination, fields)
    } else if isNews {
      context.logger.info("events wait for another try", about: UpstreamContext.destination, fields)
    } else {
      context.logger.debug("events wait for yet another try", about: UpstreamContext.destination, fields)
    }
    delay(lane, length, state, detail, isAsked: asked != nil || isRateLimited)
    if let flight, asked != nil || isRateLimited { flight.sending.ask(lane.state.delay) }
  }

  /// A request failed that was under way when another did: no further failure, but what the upstream asks for holds.
  private func lengthen(
    _ lane: DeliveryLane, _ flight: Flight, _ state: DestinationStatus.State, _ detail: String, _ asked: RetryAfter?,
    isRateLimited: Bool
  ) {
    guard let asked else { return }
    // (No longer than the protocol lets an upstream ask for.)
    let most = flight.upstream.outgoing.wait(
      after: lane.state.tries(asked, isRateLimited, 0), flight.upstream.configuration.retry.delays)
    let length = min(asked.delay, most)
    guard now + length > lane.state.delay?.until ?? now else { return }
    delay(lane, length, state, detail, isAsked: true)
    flight.sending.ask(lane.state.delay)
  }

  /// Something of our own failed: it is tried again soon.
  func failLocally(_ lane: DeliveryLane, _ detail: String) {
    context.logger.error(
      "waiting events can't be read", about: UpstreamContext.destination,
      ["app": .text(lane.app), "reason": .text(detail)])
    delay(lane, Self.localRetry, .failing, detail)
  }

  func delay(
    _ lane: DeliveryLane, _ length: Duration, _ state: DestinationStatus.State, _ detail: String, isAsked: Bool = false
  ) {
    lane.state.wait(
      LaneDelay(
        length: length, state: state, detail: detail, now: now, wallNow: context.clock.now, isAsked: isAsked), from: now
    )
    lane.notice = DeliveryLane.Notice(state: state, detail: detail)
    board.change { $0.lastError = "\(lane.app): \(detail)" }
    isRecordDirty = true
    requestUrgentCommit()
  }

  private static var detailLengthMax: Int { 300 }

  /// The upstream itself has answered.
  func reachable(_ flight: Flight) {
    guard let since = flight.outlet.outageSince else { return }
    flight.outlet.outageSince = nil
    context.logger.info(
      "the upstream answers again", about: UpstreamContext.destination, ["after": .seconds((now - since).seconds)])
  }

  // MARK: 429

  func rateLimited(_ flight: Flight, _ asked: RetryAfter?, status: Int) {
    let lane = flight.lane
    let unit = flight.upstream.habits.limitUnit == .requests ? "requests" : "events"
    let cause = status == 408 ? "the request took too long to come" : "too many \(unit)"
    let detail = "The upstream answered \(status), \(cause); the next try comes when it allows."
    if flight.suspect != nil || !flight.upstream.habits.limitsInstalls {
      putBack(flight)
      return fail(lane, flight, .waiting, detail, asked, isRateLimited: true)
    }
    let used = flight.sending.budget?.used(at: now) ?? 0
    let step = lane.state.rateHunt.refused(installs: flight.installCount, used: used)
    switch step {
    case .halve: halve(flight, flight.halvesByInstall())
    case .park: break
    case .keyIsCause:
      lane.state.again.append(flight.portion())
      endRateHunt(flight)
    }
    fail(lane, flight, .waiting, detail, asked, isRateLimited: true)
    if step == .park { park(flight) }
  }

  /// The upstream refuses one install: its events wait, the others of the lane go on.
  private func park(_ flight: Flight) {
    let lane = flight.lane
    let stored = flight.buffers.batch.events
    guard let install = stored.first?.index.installHash else { return }
    let until = max(lane.state.delay?.until ?? now, now + .seconds(1))
    if flight.sending.installs == nil {
      flight.sending.installs = InstallBudgets(
        most: Self.unlimitedInstall, window: flight.upstream.configuration.rateLimit.window)
    }
    flight.sending.installs?.refused(install, events: flight.count, until: until)
    var position = RunPosition(flight.events)
    for event in stored {
      let follows = position.follows(event.sequence)
      lane.state.parked.park(install, event.sequence, follows: follows, room: .at(until))
    }
    if let last = stored.last {
      lane.state.parked.note(
        install,
        ParkedEvents.Sent(
          through: last.sequence, tries: Tries(attempts: flight.attempts, unanswered: flight.unanswered)))
    }
    if isNews(.limitedInstall, of: lane.app) {
      context.logger.info(
        "the upstream limits one install; its events wait, the others go on", about: UpstreamContext.destination,
        ["app": .text(lane.app)])
    }
  }

  private static var unlimitedInstall: Int { 1 << 30 }

  func passRateHunt(_ flight: Flight) {
    let lane = flight.lane
    guard lane.state.rateHunt.isActive else { return }
    lane.state.rateHunt.passed()
    if lane.state.again.isEmpty { endRateHunt(flight) }
  }

  private func endRateHunt(_ flight: Flight) {
    let used = flight.lane.state.rateHunt.used
    guard flight.lane.state.rateHunt.end(), flight.sending.budget != nil else { return }
    flight.sending.budget?.refused(used: used, at: now)
    guard isNews(.learntLimit, of: flight.lane.app) else { return }
    let limit = flight.sending.budget?.limit.limit(at: now) ?? 0
    context.logger.info(
      "somebody else sends with the key too, or its limit is lower: less is sent for a while",
      about: UpstreamContext.destination,
      ["app": .text(flight.lane.app), "events_per_minute": .integer(limit)])
  }

  // MARK: Refusals

  func refuse(_ flight: Flight, _ status: Int, _ code: String, _ message: String) {
    let lane = flight.lane
    let told = flight.withoutSecrets(code, message)
    guard status == 401 || status == 403 else {
      keyIsTaken(flight)
      noteRefusal(lane, status, told.code, told.message)
      return giveUp(flight, .refused, status, code, message)
    }
    let words = "\(status) \(told.code): \(told.message)"
    let holds = flight.upstream.configuration.onRefusedKey == .hold
    if holds, flight.upstream.habits.onRefusal == .holdAtOnce { return pause(flight, Self.keyRefused(words, flight)) }
    // A key that isn't the app's any more: what went with it waits for the other one.
    guard context.keys.upstreamKey(ofApp: lane.app) == flight.sending.key else { return putBack(flight) }
    let cause = RefusalBreaker.Cause(status: status, code: code)
    let step = lane.state.breaker.refused(cause, holds: holds, wallNow: context.clock.now)
    lane.refusedKey = flight.sending.id
    isRecordDirty = true
    switch step {
    case .deadLetter, .deadLetterAndOpen:
      noteRefusal(lane, status, told.code, told.message)
      giveUp(flight, .refused, status, code, message)
      if case .deadLetterAndOpen(let wait) = step { hold(flight, cause, words, wait) }
    case .putBack(let wait):
      putBack(flight)
      answered(flight)
      if lane.state.isNews(flight.began) { hold(flight, cause, words, wait) }
    }
  }

  private func hold(_ flight: Flight, _ cause: RefusalBreaker.Cause, _ words: String, _ wait: Duration) {
    let lane = flight.lane
    let detail =
      switch cause {
      case .key: Self.keyRefused(words, flight)
      case .quota: "Quota used up (\(words)): events wait for the 1st (UTC) or a bigger plan; one batch an hour asks."
      }
    if lane.isNews("held: \(cause)") {
      context.logger.warning(
        "the upstream refuses an app's events again and again; what waits is held", about: UpstreamContext.destination,
        ["app": .text(lane.app), "reason": .text(detail), "retry_in": .seconds(wait.seconds)])
    }
    delay(lane, wait, .refused, detail)
  }

  private static func keyRefused(_ words: String, _ flight: Flight) -> String {
    let advice = flight.upstream.outgoing.advice(onRefused: flight.buffers.batch)
    return "Key refused (\(words)): \(advice); events wait, one batch a minute asks again."
  }

  /// The upstream has answered and not refused the key.
  func keyIsTaken(_ flight: Flight) {
    closeBreaker(flight.lane)
    endPause(flight)
  }

  func closeBreaker(_ lane: DeliveryLane) {
    guard lane.state.breaker.refusals > 0 else { return }
    lane.state.breaker.close()
    lane.refusedKey = nil
    isRecordDirty = true
  }

  func noteRefusal(_ lane: DeliveryLane, _ status: Int, _ code: String, _ message: String) {
    let detail = "The upstream answered \(status) \(code): \(message)"
    board.change { $0.lastError = "\(lane.app): \(detail)" }
    if isNews(.refused(status: status), of: lane.app) {
      context.logger.warning(
        "the upstream refused events; they go to the dead letters", about: UpstreamContext.destination,
        ["app": .text(lane.app), "status": .integer(status), "code": .text(code)])
    }
    lane.notice = status == 401 || status == 403 ? DeliveryLane.Notice(state: .refused, detail: detail) : nil
  }
}
