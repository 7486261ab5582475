import Clocks
import EventLog
import HTTPClient
import Observability

extension UpstreamEngine {
  /// Decides what a lane does next, unless it waits for its turn already.
  func consider(_ lane: DeliveryLane) {
    guard isOpen, !isStopped, !lane.isQueued, !lane.isWaitingForKey else { return }
    closeBreakerOfOldKey(lane)
    leavePause(lane)
    var decision = decide(lane)
    if decision.sends, lane.state.underWay.requests > 0, !hasRoomBeside(lane) { decision = .waitForAnswer }
    if decision.sends, let delay = asked(of: lane) {
      notePause(lane)
      return wait(lane, with: delay)
    }
    lane.blocked = nil
    switch decision {
    case .nothing: rest(lane)
    case .hold: hold(lane)
    case .waitForAnswer: if let due = lane.answersDue { show(lane, .until(due)) }
    case .readAnew:
      lane.state.forgetHeld()
      lane.needsRewind = true
      consider(lane)
    case .wait(let moment):
      setTimer(lane, moment)
      if let delay = lane.state.delay, delay.until == moment {
        lane.blocked = .until(moment)
        show(lane, retryAt: delay.retryAt, .until(moment))
      } else if lane.state.nextDue == moment {
        lane.blocked = .until(moment)
        let notice = DeliveryLane.Notice(state: .paced, detail: parkedWords(lane))
        show(lane, retryAt: context.clock.now + max(moment - now, .zero), usual: notice, .until(moment))
      } else {
        show(lane, .until(moment))
      }
    case .send, .sendIfFull: queue(lane, decision)
    }
  }

  private func parkedWords(_ lane: DeliveryLane) -> String {
    let parked = lane.state.parked
    if parked.isEmpty {
      return "What waits has made the upstream fail, and is tried again when its install's limit allows."
    }
    let installs =
      parked.installCount == 1 ? "one install that is over its" : "\(parked.installCount) installs that are over their"
    guard parked.isFull else { return "What waits is of \(installs) limit, and goes on as that allows." }
    return "As much as may be is parked, of \(installs) limit: the app's other installs wait until some of it has gone."
  }

  /// Half of what may be under way is for lanes that have nothing under way: one of which the upstream answers nothing, with
  /// all the requests it may have, must not be in the others' way.
  private func hasRoomBeside(_ lane: DeliveryLane) -> Bool { hasRoom(lane.outlet, half: true) }

  func decide(_ lane: DeliveryLane) -> LaneDecision { lane.state.decide(facts(of: lane, now), lane.upstream.limits) }

  /// A wait that holds for the key that the lane sends with: its pause, or a delay that the upstream asked for in answer to
  /// another lane.
  func asked(of lane: DeliveryLane) -> LaneDelay? {
    if let pause = pause(of: lane) { return pause }
    guard let key = context.keys.upstreamKey(ofApp: lane.app), let delay = lane.outlet.keys[key]?.asked,
      now < delay.until
    else { return nil }
    return delay
  }

  private func closeBreakerOfOldKey(_ lane: DeliveryLane) {
    guard lane.state.breaker.refusals > 0, let refused = lane.refusedKey,
      let key = context.keys.upstreamKey(ofApp: lane.app), sendingKey(key, lane).id != refused
    else { return }
    context.logger.info(
      "the app has another key: what waits is sent with it", about: UpstreamContext.destination,
      ["app": .text(lane.app)])
    lane.state.closeBreaker()
    lane.refusedKey = nil
    lane.notice = nil
    lane.toldOf = []
    isRecordDirty = true
  }

  private func wait(_ lane: DeliveryLane, with delay: LaneDelay) {
    setTimer(lane, delay.until)
    lane.blocked = .until(delay.until)
    lane.notice = DeliveryLane.Notice(state: delay.state, detail: delay.detail)
    show(lane, retryAt: delay.retryAt, .until(delay.until))
  }

  private func facts(of lane: DeliveryLane, _ now: ContinuousClock.Instant) -> LaneFacts {
    let pending = subscription.pending(lane.lane)
    let lingerUntil: ContinuousClock.Instant
    if let known = lane.lingerUntil {
      lingerUntil = known
    } else {
      let linger = lane.upstream.configuration.linger
      // The wall clock may have jumped since: never longer than the whole linger.
      let waited = pending.oldestReceivedAt.map { max(context.clock.now - $0, .zero) } ?? .zero
      lingerUntil = now + max(linger - waited, .zero)
      if pending.events > 0 { lane.lingerUntil = lingerUntil }
    }
    var facts = LaneFacts(now: now, pendingEvents: pending.events, lingerUntil: lingerUntil)
    facts.skipsLinger = skipsLinger(lane)
    facts.fullFrom = lane.fullFrom ?? max(2, lane.upstream.limits.bytes / Self.eventBytesLikelyMax)
    facts.isHeld = holdReason(lane) != nil
    return facts
  }

  /// Events of the usual size limit: so many of them as fit into a batch fill it by their bytes.
  private static var eventBytesLikelyMax: Int { 8192 }

  private func rest(_ lane: DeliveryLane) {
    lane.lingerUntil = nil
    lane.fullFrom = nil
    // Nothing of it waits, so that there is nothing to try again.
    if lane.state.delay != nil { isRecordDirty = true }
    lane.needsRewind = lane.needsRewind || !lane.state.holdsNothing
    lane.state.rest()
    forgetPause(lane)
    if lane.notice?.state != .refused { lane.notice = nil }
    guard lane.notice == nil, lane.state.isFresh else { return show(lane, .turn) }
    lanes[lane.lane] = nil
    // A moment it was to be looked at again must not bring it back beside the app's next lane.
    lane.timer = nil
    board.change { $0.lanes[lane.lane] = nil }
  }

  private func hold(_ lane: DeliveryLane) {
    lane.blocked = .hold
    lane.notice = DeliveryLane.Notice(state: .held, detail: holdReason(lane)?.words(lane) ?? "")
    show(lane, .hold)
  }

  func setTimer(_ lane: DeliveryLane, _ moment: ContinuousClock.Instant) {
    // One entry a lane: a timer that is too early looks again, and is set again.
    if let timer = lane.timer, timer <= moment { return }
    lane.timer = moment
    timers.add(moment, .lane(lane))
    if timers.count > timersMax { forgetOldTimers() }
  }

  /// Lets go of the moments that mean nothing any more, each of which holds a lane that is gone.
  private func forgetOldTimers() {
    timers.keep { entry in
      switch entry.subject {
      case .lane(let lane): lane.timer == entry.deadline
      case .flush(let id): flushes[id] != nil
      case .key(let key): key.timer == entry.deadline
      case .commit: entry.deadline == commitDue
      case .expiry: entry.deadline == expiryDue
      case .open, .limits, .stop: true
      }
    }
    timersMax = max(Self.timersMaxAtFirst, timers.count * 2)
  }

  /// - Parameters:
  ///   - usual: what is told of a lane that has nothing of its own to tell; nil: it is running.
  ///   - key: the key whose limit it waits for, by its fingerprint.
  func show(
    _ lane: DeliveryLane, retryAt: Timestamp? = nil, usual: DeliveryLane.Notice? = nil, key: String? = nil,
    _ explanation: DeliveryBoard.Explanation
  ) {
    let notice = lane.notice ?? usual
    board.set(
      lane.lane,
      DeliveryBoard.Entry(
        state: notice?.state ?? .running, detail: notice?.detail, retryAt: retryAt, explanation: explanation, key: key,
        rate: lane.meter, parkedInstalls: lane.state.parked.installCount + lane.state.requests.installCount,
        parkedLongest: lane.state.parked.longest))
  }
}
