import Clocks
import EventLog
import Observability

extension UpstreamEngine {
  /// Takes another configuration into use. What is under way ends as it began; what it is answered counts.
  ///
  /// - Parameter change: what changes along with it, between two requests: nothing is sent half by the one and half by the
  ///   other configuration.
  func reconfigure(_ upstreams: Upstreams, with change: () -> Void) {
    guard !isStopped else { return change() }
    let before = context.upstreams
    // What waits now was accepted for the upstreams there were.
    let waiting = subscription.waitingByApp
    change()
    context.settings.set(upstreams)
    usual = AppUpstream(upstreams.usual, owner: nil)
    own = AppUpstream.own(upstreams)
    order = upstreams.usual.order
    shares = upstreams.outlets
    for lane in lanes.values { take(lane) }
    // (What was held is judged anew: it may be settled by now.)
    if isElsewhere(before, upstreams) || !opening.holdsNothing { turn(to: upstreams, waiting) }
    if order != before.usual.order { for lane in lanes.values { noteAge(lane) } }
    changeBudgets()
    for lane in lanes.values { consider(lane) }
    giveUpExpired()
    pump()
  }

  /// Whether an app's events go elsewhere than before.
  private func isElsewhere(_ before: Upstreams, _ now: Upstreams) -> Bool {
    OutletID(before.usual) != OutletID(now.usual)
      || before.byApp.mapValues(OutletID.init) != now.byApp.mapValues(OutletID.init)
  }

  /// Has a lane work by the configuration there is now.
  private func take(_ lane: DeliveryLane) {
    lane.upstream = own[lane.app] ?? usual
    let outlet = outlet(OutletID(lane.upstream.configuration))
    if outlet !== lane.outlet { move(lane, to: outlet) }
    lane.lingerUntil = nil
    lane.fullFrom = nil
    lane.heldDialect = nil
    lane.state.concurrency.change(most: lane.upstream.configuration.concurrency)
    lane.state.stepsAside = lane.upstream.stepsAside
    guard lane.notice?.state == .held else { return }
    lane.notice = nil
    show(lane, .turn)
  }

  private func move(_ lane: DeliveryLane, to outlet: Outlet) {
    if lane.isQueued {
      lane.outlet.queue.remove(lane)
      lane.isQueued = false
    }
    lane.servedBy = nil
    if let sending = lane.waitsFor {
      lane.waitsFor = nil
      sending.waiters.removeAll { $0 === lane }
    }
    lane.outlet = outlet
  }

  /// Has other limits hold for what is sent with the keys in use, and whoever waits for one look again.
  private func changeBudgets() {
    var isChanged = false
    for outlet in outlets {
      for sending in outlet.keys.values {
        guard let limit = limit(of: sending, outlet), limit != sending.limit else { continue }
        sending.change(to: limit, at: now)
        isChanged = true
      }
    }
    guard isChanged else { return }
    for lane in lanes.values {
      lane.state.parked.lookAgain()
      lane.state.poison.lookAgain()
    }
    for sending in allKeys { serve(sending) }
    isRecordDirty = true
    requestUrgentCommit()
  }

  /// The limit that holds for a key; nil: nobody sends with it there any more.
  private func limit(of sending: SendingKey, _ outlet: Outlet) -> RateLimit? {
    let upstream = sending.owner.map { own[$0] ?? usual } ?? usual
    return OutletID(upstream.configuration) == outlet.id ? upstream.configuration.rateLimit : nil
  }

  /// Sends to other upstreams, unless events wait that were accepted for the last ones: then nothing of those is sent.
  private func turn(to upstreams: Upstreams, _ waiting: [String: Int]) {
    if isOpen {
      isOpen = false
      isInterrupted = true
    }
    opening = UpstreamOpening(
      // (What was never opened is judged by what is on disk: it may be a newer program's.)
      attachment: isInterrupted ? record.json : subscription.attachment, waiting: waiting, relay: context.relay,
      upstreams: upstreams)
    if opening.wholeHold == nil {
      record.url = opening.record.url
      record.apps = opening.record.apps
      isRecordDirty = true
    }
    forgetWaits()
    nameKeys()
    open()
  }

  /// Another upstream knows nothing of what the last one asked for or refused.
  private func forgetWaits() {
    for lane in lanes.values where isNew(lane) {
      lane.state.closeBreaker()
      lane.refusedKey = nil
      lane.notice = nil
      lane.toldOf = []
    }
  }

  /// Whether a lane's events go to another upstream than before, for good.
  private func isNew(_ lane: DeliveryLane) -> Bool {
    if opening.newApps.contains(lane.app) { return true }
    return opening.isUsualNew && own[lane.app] == nil && record.apps[lane.app] == nil
  }

  /// Has keys be known on record by what is the usual upstream now, and whoever waits for one look again.
  private func nameKeys() {
    for outlet in outlets {
      for sending in outlet.keys.values {
        for lane in sending.waiters { lane.waitsFor = nil }
        sending.waiters = []
        sending.partFrom = nil
        board.setPace(sending.id, nil)
        sending.id = outlet.recordID(ofKey: sending.key, usual: usualOutlet)
      }
    }
  }

  /// Goes on where another configuration had closed it.
  ///
  /// For whom the events are that come from now on is on record before anything is sent; what fails is tried again.
  func reopen() {
    do throws(LogError) {
      if opening.mustCommit { try commit() }
    } catch {
      context.logger.error(
        "the upstream's records can't be taken up", about: UpstreamContext.destination,
        ["reason": .text(error.description)])
      board.change { $0.whole = (.failing, error.description) }
      timers.add(now + Self.localRetry, .open)
      return pump()
    }
    opening.mustCommit = false
    isInterrupted = false
    isOpen = true
    board.change { $0.whole = nil }
    tellHolds()
    for lane in subscription.pendingLanes() { consider(lane) }
    giveUpExpired()
    pump()
  }
}
