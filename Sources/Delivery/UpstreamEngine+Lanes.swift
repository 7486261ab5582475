import Clocks
import EventLog
import HTTPClient
import Observability

/// A request under way.
struct Flight {
  let lane: DeliveryLane
  let buffers: BufferPool.Buffers
  let shape: BatchShape
  let kind: EventKind
  let began: ContinuousClock.Instant
  /// The key it is sent with.
  let key: String
  /// The batch holds more events than went into the body.
  let isCut: Bool
}

extension UpstreamEngine {
  /// Decides what a resting lane does next.
  func consider(_ lane: DeliveryLane) {
    guard isOpen, !isStopped, case .resting = lane.phase else { return }
    let now = now
    let facts = facts(of: lane, now)
    let decision = lane.state.decide(facts, context.limits)
    if decision.sends, let delay = askedOfCounterpart(lane) { return wait(lane, with: delay) }
    lane.blocked = nil
    switch decision {
    case .nothing: rest(lane)
    case .hold: hold(lane)
    case .wait(let moment):
      setTimer(lane, moment)
      if let delay = lane.state.delay, delay.until == moment {
        lane.blocked = .until(moment)
        show(lane, retryAt: delay.retryAt, .until(moment))
      } else {
        show(lane, .until(moment))
      }
    case .send, .sendIfFull:
      lane.phase = .queued
      lane.plan = decision
      queue.append(lane)
      show(lane, .turn)
    }
  }

  /// A delay that the upstream asked for in answer to the app's other lane: it is for the key, and both send with that.
  private func askedOfCounterpart(_ lane: DeliveryLane) -> LaneDelay? {
    guard let delay = lanes[lane.lane.counterpart]?.state.delay, delay.isAsked, now < delay.until else { return nil }
    return delay
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
      let linger = context.configuration.linger
      // The wall clock may have jumped since: never longer than the whole linger.
      let waited = pending.oldestReceivedAt.map { max(context.clock.now - $0, .zero) } ?? .zero
      lingerUntil = now + max(linger - waited, .zero)
      if pending.events > 0 { lane.lingerUntil = lingerUntil }
    }
    var facts = LaneFacts(now: now, pendingEvents: pending.events, lingerUntil: lingerUntil)
    facts.skipsLinger = skipsLinger(lane)
    facts.fullFrom = lane.fullFrom ?? fullFromAtFirst
    facts.isKeyless = lane.isKeyless && context.keys.upstreamKey(ofApp: lane.app) == nil
    return facts
  }

  /// Events of the usual size limit fill a batch by their bytes from this number on.
  private var fullFromAtFirst: Int { max(2, context.limits.bytes / Self.eventBytesLikelyMax) }
  private static var eventBytesLikelyMax: Int { 8192 }

  private func rest(_ lane: DeliveryLane) {
    lane.lingerUntil = nil
    lane.fullFrom = nil
    // Nothing of it waits, so that there is nothing to try again.
    if lane.state.delay != nil { isRecordDirty = true }
    lane.state = DeliveryState()
    if lane.notice?.state != .refused { lane.notice = nil }
    guard lane.notice == nil else { return show(lane, .turn) }
    lanes[lane.lane] = nil
    // A moment it was to be looked at again must not bring it back beside the app's next lane.
    lane.timer = nil
    board.change { $0.lanes[lane.lane] = nil }
  }

  private func hold(_ lane: DeliveryLane) {
    lane.blocked = .hold
    lane.notice = DeliveryLane.Notice(
      state: .held,
      detail: "App \(lane.app) has no write key any more: put it back under apps with its write_key; its events wait.")
    show(lane, .hold)
  }

  private func setTimer(_ lane: DeliveryLane, _ moment: ContinuousClock.Instant) {
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
      case .commit: entry.deadline == commitDue
      case .open, .limits, .stop: true
      }
    }
    timersMax = max(Self.timersMaxAtFirst, timers.count * 2)
  }

  func show(_ lane: DeliveryLane, retryAt: Timestamp? = nil, _ explanation: DeliveryBoard.Explanation) {
    board.set(
      lane.lane,
      DeliveryBoard.Entry(
        state: lane.notice?.state ?? .running, detail: lane.notice?.detail, retryAt: retryAt, explanation: explanation))
  }

  /// Reads the lane's next batch and sends it.
  func launch(_ lane: DeliveryLane) {
    lane.phase = .resting
    guard let key = context.keys.upstreamKey(ofApp: lane.app) else {
      lane.isKeyless = true
      context.logger.warning(
        "events are held: their app has no write key any more", about: UpstreamContext.destination,
        ["app": .text(lane.app)])
      return consider(lane)
    }
    if lane.isKeyless {
      lane.isKeyless = false
      lane.notice = nil
    }
    let buffers = pool.take()
    guard let flight = read(lane, key, into: buffers) else {
      pool.giveBack(buffers)
      return consider(lane)
    }
    send(flight)
  }

  /// Reads what the lane planned to send; nil when there is nothing to send now, and the lane is to be looked at again.
  private func read(_ lane: DeliveryLane, _ key: String, into buffers: BufferPool.Buffers) -> Flight? {
    let limits = context.limits
    var limit = ReadLimit(
      events: limits.events, bytes: max(1, limits.bytes - BatchBody.frameBytes + 1), separatesKinds: true)
    if case .send(let last) = lane.plan { limit.lastSequence = last }
    do throws(LogError) {
      if lane.needsRewind { subscription.rewind(lane.lane) }
      lane.needsRewind = false
      guard try subscription.read(lane.lane, limit: limit, into: buffers.batch) else {
        lane.needsRewind = true
        if lane.state.split.isActive {
          lane.state.leaveSplitPart()
        } else if subscription.pending(lane.lane).events > 0 {
          failLocally(lane, "The log gives none of the events that wait; it is read again.")
        }
        return nil
      }
    } catch {
      lane.needsRewind = true
      failLocally(lane, error.description)
      return nil
    }
    let batch = buffers.batch
    if case .sendIfFull = lane.plan, isPartFilled(lane, batch) {
      lane.needsRewind = true
      return nil
    }
    return fill(lane, key, buffers)
  }

  /// Whether more events fit; then notes from how many on it is worth looking again.
  private func isPartFilled(_ lane: DeliveryLane, _ batch: EventBatch) -> Bool {
    let read = batch.events.count
    guard subscription.pending(lane.lane).events <= read else { return false }
    let bytes = batch.events.reduce(0) { $0 + $1.index.length + 1 }
    lane.fullFrom = max(read + 1, read * context.limits.bytes / max(bytes, 1))
    return true
  }

  private func fill(_ lane: DeliveryLane, _ key: String, _ buffers: BufferPool.Buffers) -> Flight? {
    let events = buffers.batch.events
    guard let first = events.first else { return nil }
    let count: Int
    switch first.kind {
    case .event: count = BatchBody.fill(buffers.body, from: buffers.batch, bytesMax: context.limits.bytes)
    case .identify:
      BatchBody.fill(buffers.body, withOnly: first, of: buffers.batch)
      count = 1
    }
    let shape = BatchShape(
      count: count, first: first.sequence, middle: events[max(count / 2, 1) - 1].sequence,
      last: events[count - 1].sequence)
    return Flight(
      lane: lane, buffers: buffers, shape: shape, kind: first.kind, began: now, key: key, isCut: count < events.count)
  }

  private func send(_ flight: Flight) {
    let lane = flight.lane
    let configuration = context.configuration
    let request = HTTPClientRequest(
      url: flight.kind == .event ? eventsURL : identifyURL,
      headers: ["Content-Type: application/json", "X-Write-Key: \(flight.key)"], body: flight.buffers.body,
      timeout: configuration.timeout, connectTimeout: configuration.connectTimeout, caFile: configuration.caFile)
    inFlight += 1
    inFlightBytes += flight.buffers.body.count
    lane.phase = .inFlight
    lane.fullFrom = nil
    lane.state.sent()
    show(lane, .until(flight.began + context.requestTimeMax))
    lane.task = Task {
      let result = await context.client.send(request)
      finish(flight, result)
    }
  }
}
