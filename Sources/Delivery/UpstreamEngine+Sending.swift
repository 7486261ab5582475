import Clocks
import Dialects
import EventLog
import EventsAPI
import HTTPClient
import Observability

/// What a request is made of.
struct RequestDraft {
  let sending: SendingKey
  let buffers: BufferPool.Buffers
  /// Events it may hold.
  let allowance: Int
  var picker: BatchPicker
  var attempts = 0
  var unanswered = 0
  var serverFaults = 0
  var suspect: PoisonHunt.Suspect?
  var isDoubted = false

  var tries: Tries { Tries(attempts: attempts, unanswered: unanswered) }

  /// Some of its events, as they were before this try.
  func portion(_ events: EventRanges) -> Portion {
    Portion(
      events: events.sorted(), attempts: attempts, unanswered: unanswered, serverFaults: serverFaults,
      isDoubted: isDoubted)
  }

  /// What was picked last has to wait after all: the next one has tries of its own.
  mutating func forgetTries() { (attempts, unanswered, serverFaults, isDoubted) = (0, 0, 0, false) }

  /// What was tried so often joins what was picked before. A request is given up when all in it was tried too often.
  mutating func join(_ tries: Tries) {
    let isFirst = picker.count == 0
    attempts = isFirst ? tries.attempts : max(attempts, tries.attempts)
    unanswered = isFirst ? tries.unanswered : min(unanswered, tries.unanswered)
  }
}

extension UpstreamEngine {
  /// Reads the lane's next batch and sends it.
  func launch(_ lane: DeliveryLane) {
    lane.isQueued = false
    // Whoever waits for the budget that this one was let through by comes next, whatever becomes of it here.
    let served = lane.servedBy
    lane.servedBy = nil
    defer { if let served, !served.waiters.isEmpty { serve(served) } }
    // What was decided may hold no more: a request of the lane may have failed since, and what it held goes first.
    lane.plan = decide(lane)
    guard lane.plan.sends, asked(of: lane) == nil else { return consider(lane) }
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
    let sending = sendingKey(key, lane)
    let upstream = lane.upstream
    let allowance = upstream.allowance(sending.budget?.available(at: now) ?? .max)
    guard allowance > 0 else { return wait(lane, for: sending) }
    let buffers = pool.take()
    var draft = RequestDraft(
      sending: sending, buffers: buffers, allowance: allowance,
      picker: BatchPicker(
        now: now, expiredBefore: upstream.givesUpExpired ? context.clock.now - EventsLimits.pastMax : nil,
        dialect: upstream.dialect,
        countsInstalls: sending.installs != nil || lane.state.requestsMax > 1 || upstream.stepsAside
          || upstream.habits.keepsRequestsApart,
        aside: upstream.stepsAside ? lane.state.poison.installs : []))
    let isThere = assemble(&draft, lane)
    defer { if !sending.waiters.isEmpty { serve(sending) } }
    guard isThere, let flight = fill(draft, lane) else {
      pool.giveBack(buffers)
      return lookOn(lane)
    }
    ask(flight)
    send(flight)
    // More may go beside it.
    if lane.state.requestsMax > lane.state.underWay.requests { consider(lane) }
  }

  /// Looks again at a lane that had nothing to send in what was read. Where it reads on, others have the thread before: a
  /// backlog of installs that may not go must not hold it for as long as it is.
  private func lookOn(_ lane: DeliveryLane) {
    guard decide(lane).sends else { return consider(lane) }
    setTimer(lane, now)
    show(lane, .turn)
  }

  /// Puts the request's body together of what was picked; events that don't fit are sent by themselves, next.
  private func fill(_ draft: RequestDraft, _ lane: DeliveryLane) -> Flight? {
    let (batch, body) = (draft.buffers.batch, draft.buffers.body)
    guard let kind = batch.events.first?.kind else { return nil }
    let upstream = lane.upstream
    var events = draft.picker.events
    var installs = draft.picker.countsInstalls ? draft.picker.installs : nil
    let spoken = batch.events.firstIndex { $0.dialect != upstream.dialect } ?? batch.events.count
    if spoken < batch.events.count { leave(batch.events[spoken...], draft, lane, &events, &installs) }
    guard spoken > 0 else {
      hold(lane, dialect: batch.events[0].dialect)
      return nil
    }
    if spoken < batch.events.count { batch.keepFirst(spoken) }
    let filled = upstream.outgoing.fill(
      body, from: batch, key: draft.sending.key, now: context.clock.now, bytesMax: upstream.limits.bytes)
    if filled < batch.events.count {
      leave(batch.events[filled...], draft, lane, &events, &installs)
      batch.keepFirst(filled)
    }
    let cost = upstream.cost(events.count)
    draft.sending.take(cost)
    draft.sending.sentAt = now
    putOnRecord(draft.sending, installs)
    nextFlight += 1
    lane.state.underWay.began(events.count, installs)
    if draft.attempts > 0 { lane.state.trying[nextFlight] = draft.portion(events) }
    return Flight(
      id: nextFlight, lane: lane, upstream: upstream, outlet: lane.outlet, buffers: draft.buffers, events: events,
      installs: installs, kind: kind, began: now, sending: draft.sending, attempts: draft.attempts + 1,
      unanswered: draft.unanswered, serverFaults: draft.serverFaults, suspect: draft.suspect,
      isDoubted: draft.isDoubted)
  }

  /// Takes the last of what was picked out of the request again: it is sent next, by itself.
  private func leave(
    _ left: ArraySlice<StoredEvent>, _ draft: RequestDraft, _ lane: DeliveryLane, _ events: inout EventRanges,
    _ installs: inout [UInt64: Int]?
  ) {
    let stored = draft.buffers.batch.events
    let rest = events.select({ stored[$0].sequence }) { $0 >= left.startIndex }
    lane.state.again.append(draft.portion(rest))
    for event in left {
      draft.sending.installs?.giveBack(event.index.installHash, 1)
      let others = installs?[event.index.installHash, default: 1] ?? 1
      installs?[event.index.installHash] = others > 1 ? others - 1 : nil
    }
    events = events.select({ stored[$0].sequence }) { $0 < left.startIndex }
  }

  /// Has the record say what is sent before it is sent.
  private func putOnRecord(_ sending: SendingKey, _ installs: [UInt64: Int]?) {
    var isMissing = sending.isLeaseOverdrawn(at: now)
    for install in installs?.keys ?? [:].keys where sending.installs?.isOnRecord(install, adding: 0, at: now) == false {
      sending.installs?.putOnRecord(install)
      isMissing = true
    }
    guard isMissing else { return }
    sending.wantsLease = true
    isRecordDirty = true
    commitNow()
  }

  private func send(_ flight: Flight) {
    let lane = flight.lane
    let configuration = flight.upstream.configuration
    let target = flight.upstream.outgoing.target(of: flight.buffers.batch, key: flight.sending.key)
    let request = HTTPClientRequest(
      url: configuration.base + target.path, headers: target.headers, body: flight.buffers.body,
      timeout: configuration.timeout, connectTimeout: configuration.connectTimeout, caFile: configuration.caFile)
    inFlight += 1
    flight.outlet.inFlight += 1
    flight.outlet.inFlightBytes += flight.buffers.body.count
    lane.fullFrom = nil
    // (One that began before another configuration may take longer.)
    let due = flight.began + configuration.requestTimeMax
    lane.answersDue = max(lane.answersDue ?? due, due)
    show(lane, .until(lane.answersDue ?? due))
    lane.tasks[flight.id] = Task {
      let result = await context.client.send(request)
      finish(flight, result)
    }
  }
}
