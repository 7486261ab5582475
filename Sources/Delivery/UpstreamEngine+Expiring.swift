import Clocks
import EventLog
import EventsAPI
import Observability

// Events that grow too old while their lane can send nothing.
extension UpstreamEngine {
  /// Between two looks through the lanes that are held.
  static let expiryInterval: Duration = .seconds(600)
  /// And while a look has left some over.
  static let expiryPause: Duration = .seconds(1)
  /// Events of one lane that are given up in one look.
  static let expiryMost = 1000

  /// Gives up what has grown older than 7 days in lanes that can't send now, if the user wants that.
  ///
  /// What a lane sends is looked at when its turn comes. One without a key, with an open breaker or in a long outage may have
  /// no turn for weeks, and its events would hold the log for nothing.
  func giveUpExpired() {
    expiryDue = nil
    guard isOpen, !isStopped, ([usual] + own.values).contains(where: \.givesUpExpired) else { return }
    let moment = context.clock.now - EventsLimits.pastMax
    var hasMore = false
    for lane in lanes.values where lane.upstream.givesUpExpired && isHeldUp(lane) {
      hasMore = giveUpExpired(lane, before: moment) || hasMore
    }
    let due = now + (hasMore ? Self.expiryPause : Self.expiryInterval)
    expiryDue = due
    timers.add(due, .expiry)
  }

  private func isHeldUp(_ lane: DeliveryLane) -> Bool {
    guard lane.state.underWay.requests == 0, !lane.isQueued, !lane.isWaitingForKey else { return false }
    // (What was accepted for another upstream isn't judged by this one's rules, whatever else holds it.)
    guard lane.heldDialect == nil, opening.holdsNothing || holdSentence(of: lane.app) == nil else { return false }
    return lane.isKeyless || lane.state.breaker.isOpen || isPaused(lane)
      || lane.state.delay.map { now < $0.until } ?? false
  }

  /// - Returns: whether there may be more of them.
  private func giveUpExpired(_ lane: DeliveryLane, before moment: Timestamp) -> Bool {
    do throws(LogError) {
      let numbers = try subscription.pendingNumbers(
        lane.lane, datedBefore: moment, ofDialects: { $0 == lane.upstream.dialect }, atMost: Self.expiryMost)
      guard !numbers.isEmpty else { return false }
      // What the lane remembers of its events may be about these: it reads anew.
      let before = lane.state
      lane.state.forgetHeld()
      lane.needsRewind = true
      defer { consider(lane) }
      var at = 0
      while at < numbers.count {
        let next = numbers[at..<min(at + lane.upstream.limits.events, numbers.count)]
        let limit = ReadLimit(events: next.count, bytes: lane.upstream.limits.bytes, separatesKinds: false)
        let isThere = try subscription.read(lane.lane, again: next.map { $0...$0 }, limit: limit, into: scratch)
        guard isThere, let last = scratch.events.last else {
          at = next.endIndex
          continue
        }
        guard buryExpired(scratch.events, of: scratch, lane, isHeldUp: true, attempts: before.attempts(of:)) else {
          return false
        }
        at = next.firstIndex { $0 > last.sequence } ?? next.endIndex
      }
      return numbers.count == Self.expiryMost
    } catch {
      context.logger.error(
        "waiting events that have grown too old can't be read", about: UpstreamContext.destination,
        ["app": .text(lane.app), "reason": .text(error.description)])
      return false
    }
  }
}
