import EventLog
import Observability

extension UpstreamEngine {
  /// Takes another configuration into use. What is under way ends as it began; what it is answered counts.
  func reconfigure(_ configuration: UpstreamConfiguration) {
    guard !isStopped else { return }
    let before = context.configuration
    context.settings.set(configuration)
    eventsURL = configuration.url(of: .events)
    identifyURL = configuration.url(of: .identify)
    if configuration.base != before.base { turn(to: configuration) }
    if configuration.order != before.order { for lane in lanes.values { noteAge(lane) } }
    if configuration.onExpired != before.onExpired { giveUpExpired() }
    if configuration.rateLimit != before.rateLimit { changeBudgets(configuration.rateLimit) }
    for lane in lanes.values {
      lane.lingerUntil = nil
      lane.fullFrom = nil
      lane.state.concurrency.change(most: configuration.concurrency)
      consider(lane)
    }
    pump()
  }

  /// Has other limits hold for what is sent with the keys in use, and whoever waits for one look again.
  private func changeBudgets(_ limit: RateLimit) {
    for sending in sendingKeys.values { sending.change(to: limit, at: now) }
    for lane in lanes.values {
      lane.state.parked.lookAgain()
      lane.state.poison.lookAgain()
    }
    for sending in sendingKeys.values { serve(sending) }
    isRecordDirty = true
    requestUrgentCommit()
  }

  /// Sends to another upstream, unless events wait that were accepted for the last one: then nothing is sent.
  private func turn(to configuration: UpstreamConfiguration) {
    if isOpen {
      isOpen = false
      isInterrupted = true
    }
    opening = UpstreamOpening(
      // (What was never opened is judged by what is on disk: it may be a newer program's.)
      attachment: isInterrupted ? record.json : subscription.attachment, pendingEvents: subscription.pending.events,
      relay: context.relay,
      configuration: configuration)
    if opening.hold == nil {
      record.url = opening.record.url
      isRecordDirty = true
    }
    if opening.mustCommit { forgetWaits() }
    open()
  }

  /// Another upstream knows nothing of what the last one asked for or refused.
  private func forgetWaits() {
    for sending in sendingKeys.values { sending.asked = nil }
    for lane in lanes.values {
      lane.state.closeBreaker()
      lane.refusedKey = nil
      lane.notice = nil
      lane.toldOf = []
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
    for lane in subscription.pendingLanes() { consider(lane) }
    giveUpExpired()
    pump()
  }
}
