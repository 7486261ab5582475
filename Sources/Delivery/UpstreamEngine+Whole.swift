import EventLog

// Requests that are kept apart: each is picked whole, or waits whole.
extension UpstreamEngine {
  /// Takes the next request that had to wait for its persons and may go now.
  func takeParkedRequest(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) {
    let batch = draft.buffers.batch
    var reads = 0
    while draft.picker.count == 0, reads < Self.readsMax, let request = takeNextRequest(draft, lane) {
      reads += 1
      let isThere: Bool
      do throws(LogError) {
        isThere = try subscription.read(
          lane.lane, again: request.events.first(draft.allowance), limit: lane.upstream.limit(draft.allowance),
          into: batch)
      } catch {
        lane.state.requests.park(request, isReady: true)
        throw error
      }
      guard isThere, let last = batch.events.last else {
        // It has been settled otherwise, the log being full: nobody waits for it.
        for install in request.installs { lane.state.requests.answered(install) }
        continue
      }
      var rest = request
      rest.events.remove(through: last.sequence, taken: batch.events.count)
      // (Looked at again when this part is answered.)
      lane.state.requests.park(rest)
      draft.join(request.tries)
      pickWhole(&draft, lane, runs: request.events)
    }
  }

  private func takeNextRequest(_ draft: RequestDraft, _ lane: DeliveryLane) -> ParkedRequests.Request? {
    let underWay = lane.state.underWay
    return lane.state.requests.takeNext { underWay.holds($0) || draft.picker.isAside($0) }
  }

  /// Picks all of the request's batch, or has all of it wait when something of one of its persons is before it.
  ///
  /// - Parameter runs: what it was read by; nil: in the lane's order, without a gap.
  func pickWhole(_ draft: inout RequestDraft, _ lane: DeliveryLane, runs: EventRanges? = nil) {
    let batch = draft.buffers.batch
    var position = runs.map { RunPosition($0) }
    var events = EventRanges()
    var isSkipped = false
    var expired: [StoredEvent] = []
    for event in batch.events {
      let follows = position?.follows(event.sequence) ?? !events.isEmpty
      if draft.picker.isExpired(event) {
        expired.append(event)
        isSkipped = true
        continue
      }
      events.append(event.sequence, follows: follows && !isSkipped && !events.isEmpty)
      isSkipped = false
    }
    if !expired.isEmpty {
      expire(expired, of: batch, lane) { _ in draft.tries }
      batch.keep { !draft.picker.isExpired($0) }
      // (Whoever waited for one that has gone this way waits no more.)
      for event in expired { lane.state.requests.answered(event.index.installHash) }
    }
    let installs = Set(batch.events.map(\.index.installHash))
    guard let first = events.first, mustWait(installs, first, draft, lane) else {
      var place = RunPosition(events)
      for event in batch.events { draft.picker.take(event, follows: place.follows(event.sequence)) }
      return
    }
    draft.picker.noteConflict()
    lane.state.requests.park(ParkedRequests.Request(events: events, installs: installs, tries: draft.tries))
    draft.forgetTries()
    batch.removeAll()
  }

  private func mustWait(
    _ installs: Set<UInt64>, _ number: UInt64, _ draft: RequestDraft, _ lane: DeliveryLane
  ) -> Bool {
    installs.contains {
      lane.state.requests.isBlocked($0, number) || lane.state.underWay.holds($0) || draft.picker.isAside($0)
    }
  }
}
