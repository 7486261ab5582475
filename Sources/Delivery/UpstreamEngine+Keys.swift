import Clocks
import EventLog

// What lanes that send with one key share.
extension UpstreamEngine {
  /// What is known of a key that a lane sends with.
  func sendingKey(_ key: String, _ lane: DeliveryLane) -> SendingKey {
    let limit = lane.upstream.configuration.rateLimit
    if let known = lane.outlet.keys[key] {
      if known.owner != lane.upstream.owner {
        // (The app has an upstream of its own now, or none any more, and it is the same one.)
        known.owner = lane.upstream.owner
        if known.limit != limit { known.change(to: limit, at: now) }
      }
      return known
    }
    let isUnclean = isLastLifeUnclean
    var made = SendingKey(key, id: lane.outlet.recordID(ofKey: key, usual: usualOutlet), limit: limit)
    if !limit.isOff, isUnclean || lastLife.record.endedAt != nil, let end = endOfLastLife(limit), end > now {
      made = SendingKey(
        key, limit: limit, record: lastRecord(of: made.id, limit, isUnclean: isUnclean), until: end,
        isUnclean: isUnclean)
    }
    made.owner = lane.upstream.owner
    takeUpPause(made, lane)
    lane.outlet.keys[key] = made
    return made
  }

  /// What is on record of a key; one that isn't may have used half of its limit before a crash.
  private func lastRecord(of id: String, _ limit: RateLimit, isUnclean: Bool) -> UpstreamRecord.KeyRecord {
    if let known = lastLife.record.keys.first(where: { $0.key == id }) { return known }
    return UpstreamRecord.KeyRecord(key: id, used: isUnclean ? (limit.keyMax ?? 0) / 2 : 0, installs: [])
  }

  private var isLastLifeUnclean: Bool { lastLife.hasRecord && lastLife.record.endedAt == nil }

  /// Some of what the last life sent may be on no record, and counts still.
  var isLastLifeUnclear: Bool {
    isLastLifeUnclean && endOfLastLife(usual.configuration.rateLimit).map { $0 > now } ?? false
  }

  /// What is on record of keys that nothing was sent with in this life, as long as it counts.
  var recordsNotTakenUp: [UpstreamRecord.KeyRecord] {
    guard let end = endOfLastLife(usual.configuration.rateLimit), end > now else { return [] }
    let known = Set(allKeys.map(\.id))
    return lastLife.record.keys.filter { !known.contains($0.key) }
  }

  /// Until when what the last life sent counts.
  private func endOfLastLife(_ limit: RateLimit) -> ContinuousClock.Instant? {
    guard let ended = lastLife.record.endedAt else { return began + limit.window }
    // By the wall clock, and no longer than the whole window, since the clock may have been set back.
    return began + min(max(limit.window - max(context.clock.now - ended, .zero) + (now - began), .zero), limit.window)
  }

  /// Lets a lane send, or wait until its key's budget has room for it.
  func queue(_ lane: DeliveryLane, _ decision: LaneDecision) {
    lane.plan = decision
    nextPlace += 1
    lane.place = nextPlace
    if order == .oldestFirst { noteAge(lane) }
    let upstream = lane.upstream
    if let key = context.keys.upstreamKey(ofApp: lane.app), upstream.configuration.rateLimit.keyMax != nil {
      let sending = sendingKey(key, lane)
      sending.wantsLease = sending.budget?.isOnRecord(upstream.cost(upstream.limits.events), at: now) == false
      if !sending.waiters.isEmpty || !hasRoom(lane, sending) { return wait(lane, for: sending) }
    }
    enqueue(lane)
  }

  private func enqueue(_ lane: DeliveryLane) {
    lane.isQueued = true
    lane.outlet.queue.append(lane)
    show(lane, .turn)
  }

  private func hasRoom(_ lane: DeliveryLane, _ sending: SendingKey) -> Bool {
    let wanted = wanted(lane)
    if let from = sending.partFrom, from <= now, sending.budget?.available(at: now) ?? 0 > 0 { return true }
    switch sending.budget?.room(for: wanted, at: now) {
    case .now?, nil: return true
    case .at(let moment)?:
      // Less than was wanted goes when the rest is long in coming: what isn't used of a minute is lost.
      let isLong = moment - now > sending.limit.window / 60
      return isLong && sending.budget?.available(at: now) ?? 0 > 0
    case .afterAnswers?: return 2 * (sending.budget?.available(at: now) ?? 0) >= wanted
    }
  }

  /// How many events the lane would send at once, or requests where those count.
  private func wanted(_ lane: DeliveryLane) -> Int { lane.upstream.cost(wantedEvents(lane)) }

  private func wantedEvents(_ lane: DeliveryLane) -> Int {
    let limits = lane.upstream.limits
    if case .send(.suspect) = lane.plan { return 1 }
    if case .send(.again) = lane.plan, let portion = lane.state.again.last {
      return min(portion.events.count, limits.events)
    }
    let free = subscription.pending(lane.lane).events - lane.state.held
    return max(1, min(limits.events, free))
  }

  func wait(_ lane: DeliveryLane, for sending: SendingKey) {
    lane.waitsFor = sending
    lane.blocked = nil
    sending.waiters.append(lane)
    armKey(sending)
    show(lane, usual: DeliveryLane.Notice(state: .paced, detail: paceWords(lane, sending)), key: sending.id, .turn)
  }

  private func paceWords(_ lane: DeliveryLane, _ sending: SendingKey) -> String {
    let limit = sending.limit
    let unit = lane.upstream.habits.limitUnit == .requests ? "requests" : "events"
    guard let usual = limit.keyMax, let now = sending.limit(at: now) else { return "" }
    let learnt = now < usual ? " It was \(usual) until the upstream refused as many." : ""
    return
      "The key's limit of \(now) \(unit) in \(Int(limit.window.seconds)) s is used up; what waits goes on as it allows."
      + learnt
  }

  /// Sets when the first of those who wait for the key is looked at again, and tells it: the others' turn comes after that.
  private func armKey(_ sending: SendingKey) {
    guard let first = firstWaiter(sending) else { return disarm(sending) }
    let now = now
    let window = sending.limit.window
    let whole = moment(of: sending.budget?.room(for: wanted(sending.waiters[first]), at: now), now)
    // A part goes when there has been room for one for a second: what isn't used of a minute is lost.
    let one = moment(of: sending.budget?.room(for: 1, at: now), now)
    let part = one.map { $0 + window / 60 }
    sending.partFrom = one == now ? [sending.partFrom, part].compactMap(\.self).min() : part
    // A learnt limit comes back with time alone: it is looked at again now and then.
    let look = sending.isLimitLearnt(at: now) ? now + window / 4 : nil
    let due = [whole, sending.partFrom, look].compactMap(\.self).min()
    if let due, sending.timer.map({ due < $0 }) ?? true {
      sending.timer = due
      timers.add(due, .key(sending))
    }
    // (Without a moment there is a request under way, after whose answer there will be one.)
    let end = due ?? (sending.sentAt ?? now) + sending.waiters[first].upstream.requestTimeMax
    board.setPace(
      sending.id,
      DeliveryBoard.Pace(explanation: .until(end), retryAt: due.map { context.clock.now + max($0 - now, .zero) }))
  }

  /// Nil: not before an answer.
  private func moment(
    of room: SlidingCount.Room?, _ now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant? {
    switch room {
    case .now?, nil: now
    case .at(let moment)?: moment
    case .afterAnswers?: nil
    }
  }

  /// Nobody waits for the key, or somebody has their turn.
  private func disarm(_ sending: SendingKey) {
    sending.partFrom = nil
    board.setPace(sending.id, nil)
  }

  private func firstWaiter(_ sending: SendingKey) -> Int? {
    let waiters = sending.waiters
    return switch order {
    case .arrival: waiters.indices.min { waiters[$0].place < waiters[$1].place }
    case .oldestFirst: waiters.indices.min { waiters[$0].oldest < waiters[$1].oldest }
    }
  }

  func noteAge(_ lane: DeliveryLane) {
    lane.oldest = subscription.pending(lane.lane).oldestReceivedAt ?? Timestamp(milliseconds: .max)
  }

  /// Lets the first of those who wait for the key's budget go on, if there is room.
  func serve(_ sending: SendingKey) {
    while let first = firstWaiter(sending) {
      let lane = sending.waiters[first]
      guard hasRoom(lane, sending) else { return armKey(sending) }
      sending.waiters.remove(at: first)
      lane.waitsFor = nil
      lane.blocked = nil
      // What it would send may have changed meanwhile.
      let decision = decide(lane)
      guard decision.sends, asked(of: lane) == nil else {
        consider(lane)
        continue
      }
      lane.plan = decision
      lane.servedBy = sending
      disarm(sending)
      enqueue(lane)
      // (It takes its events when it is launched: the next one is looked at after that.)
      return
    }
    disarm(sending)
  }

}

extension SendingKey {
  /// Events in a window that may go now, as far as is learnt; nil: no limit.
  func limit(at now: ContinuousClock.Instant) -> Int? { budget?.limit.limit(at: now) }

  /// Fewer go than the configured limit allows.
  func isLimitLearnt(at now: ContinuousClock.Instant) -> Bool {
    budget.map { $0.limit.limit(at: now) < $0.limit.most } ?? false
  }

  /// The upstream asks for a wait; the longer one holds.
  func ask(_ delay: LaneDelay?) {
    guard let delay, delay.until > asked?.until ?? delay.until - .seconds(1) else { return }
    asked = delay
  }
}
