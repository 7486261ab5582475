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
  var serverFaults = 0
  var suspect: PoisonHunt.Suspect?
  var isDoubted = false
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
    let sending = sendingKey(key)
    let allowance = min(context.limits.events, sending.budget?.available(at: now) ?? .max)
    guard allowance > 0 else { return wait(lane, for: sending) }
    let configuration = context.configuration
    let isDeadLettering = configuration.onExpired == .deadLetter
    let buffers = pool.take()
    var draft = RequestDraft(
      sending: sending, buffers: buffers, allowance: allowance,
      picker: BatchPicker(
        now: now, expiredBefore: isDeadLettering ? context.clock.now - EventsLimits.pastMax : nil,
        countsInstalls: sending.installs != nil || lane.state.requestsMax > 1))
    let isThere = assemble(&draft, lane)
    defer { if !sending.waiters.isEmpty { serve(sending) } }
    guard isThere, let flight = fill(draft, lane) else {
      pool.giveBack(buffers)
      return lookOn(lane)
    }
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
    let buffers = draft.buffers
    let stored = buffers.batch.events
    guard let first = stored.first else { return nil }
    var events = draft.picker.events
    var installs = draft.picker.countsInstalls ? draft.picker.installs : nil
    switch first.kind {
    case .event:
      let filled = BatchBody.fill(buffers.body, from: buffers.batch, bytesMax: context.limits.bytes)
      if filled < stored.count {
        let rest = events.select({ stored[$0].sequence }) { $0 >= filled }
        lane.state.again.append(
          Portion(
            events: rest.sorted(), attempts: draft.attempts, serverFaults: draft.serverFaults,
            isDoubted: draft.isDoubted))
        for event in stored[filled...] {
          draft.sending.installs?.giveBack(event.index.installHash, 1)
          let left = installs?[event.index.installHash, default: 1] ?? 1
          installs?[event.index.installHash] = left > 1 ? left - 1 : nil
        }
        events = events.select({ stored[$0].sequence }) { $0 < filled }
        buffers.batch.keepFirst(filled)
      }
    case .identify: BatchBody.fill(buffers.body, withOnly: first, of: buffers.batch)
    }
    draft.sending.take(events.count)
    draft.sending.sentAt = now
    putOnRecord(draft.sending, events.count, installs)
    nextFlight += 1
    lane.state.underWay.began(events.count, installs)
    return Flight(
      id: nextFlight, lane: lane, buffers: buffers, events: events, installs: installs, kind: first.kind, began: now,
      sending: draft.sending, attempts: draft.attempts + 1, serverFaults: draft.serverFaults, suspect: draft.suspect,
      isDoubted: draft.isDoubted)
  }

  /// Has the record say what is sent before it is sent.
  private func putOnRecord(_ sending: SendingKey, _ events: Int, _ installs: [UInt64: Int]?) {
    var isMissing = sending.isLeaseOverdrawn(at: now)
    for install in installs?.keys ?? [:].keys where sending.installs?.isOnRecord(install, adding: 0, at: now) == false {
      sending.installs?.putOnRecord(install)
      isMissing = true
    }
    guard isMissing else { return }
    sending.wantsLease = true
    isRecordDirty = true
    // (What can't be written now is written with the next commit; events don't wait for it.)
    guard now >= commitNotBefore else { return }
    do throws(LogError) {
      try commit()
    } catch {
      noteCommitFailure(error)
    }
  }

  private func send(_ flight: Flight) {
    let lane = flight.lane
    let configuration = context.configuration
    let request = HTTPClientRequest(
      url: flight.kind == .event ? eventsURL : identifyURL,
      headers: ["Content-Type: application/json", "X-Write-Key: \(flight.sending.key)"], body: flight.buffers.body,
      timeout: configuration.timeout, connectTimeout: configuration.connectTimeout, caFile: configuration.caFile)
    inFlight += 1
    inFlightBytes += flight.buffers.body.count
    lane.fullFrom = nil
    show(lane, .until(flight.began + context.requestTimeMax))
    lane.tasks[flight.id] = Task {
      let result = await context.client.send(request)
      finish(flight, result)
    }
  }
}
