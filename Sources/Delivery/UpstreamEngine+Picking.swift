import Clocks
import EventLog

// Which events go into the next request.
extension UpstreamEngine {
  /// Reads for one request are no more than this.
  static var readsMax: Int { 16 }

  /// Reads and picks what the lane planned to send; false when there is nothing to send now, and the lane is to be looked
  /// at again.
  func assemble(_ draft: inout RequestDraft, _ lane: DeliveryLane) -> Bool {
    do throws(LogError) {
      switch lane.plan {
      case .send(.again): try takeAgain(&draft, lane)
      case .send(.suspect): try takeSuspect(&draft, lane)
      case .send(.onward):
        if lane.upstream.habits.keepsRequestsApart {
          try takeParkedRequest(&draft, lane)
        } else {
          try takeParked(&draft, lane)
        }
        try readOnward(&draft, lane)
      case .sendIfFull:
        guard try readIfFull(&draft, lane) else { return false }
      case .nothing, .hold, .wait, .waitForAnswer, .readAnew: return false
      }
    } catch {
      // What was picked before goes.
      if draft.picker.count == 0 {
        failLocally(lane, error.description)
        return false
      }
    }
    if lane.upstream.habits.keepsRequestsApart {
      // (Looking on costs no more than a look at each: the next one may find others' events.)
      if draft.picker.count == 0, draft.picker.conflicts > 0 {
        lane.state.concurrency.crowded(lane.state.underWay.requests)
      }
    } else if draft.picker.conflicts > draft.picker.count {
      lane.state.concurrency.conflicted()
    }
    return draft.picker.count > 0
  }

  /// What was sent before, as far as its installs may go.
  private func takeAgain(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) {
    guard let portion = lane.state.again.last else { return }
    let batch = draft.buffers.batch
    let isThere = try subscription.read(
      lane.lane, again: portion.events.first(draft.allowance), limit: lane.upstream.limit(draft.allowance),
      into: batch)
    lane.state.again.removeLast()
    // (Nothing: it has been settled otherwise, the log being full.)
    guard isThere, let last = batch.events.last else { return }
    var rest = portion
    rest.events.remove(through: last.sequence, taken: batch.events.count)
    if !rest.events.isEmpty { lane.state.again.append(rest) }
    draft.attempts = portion.attempts
    draft.unanswered = portion.unanswered
    draft.serverFaults = portion.serverFaults
    draft.isDoubted = portion.isDoubted
    if lane.upstream.habits.keepsRequestsApart { return pickWhole(&draft, lane, runs: portion.events) }
    pick(&draft, lane, runs: portion.events)
  }

  /// Fills up with what was parked and may go now.
  private func takeParked(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) {
    var reads = 0
    while draft.picker.count < draft.allowance, reads < draft.allowance, mayHoldMore(draft, lane),
      let (install, events, tries) = lane.state.parked.takeNext(at: now)
    {
      reads += 1
      var rest = events
      var room = SlidingCount.Room.now
      defer { lane.state.parked.putBack(install, rest, room: room, tries: tries) }
      if lane.state.underWay.holds(install) || draft.picker.isAside(install) {
        room = .afterAnswers
        continue
      }
      let wanted = min(
        draft.sending.installs?.available(install, at: now) ?? .max, draft.allowance - draft.picker.count, events.count)
      if wanted > 0 {
        guard let taken = try take(&draft, lane, events, tries, wanted, &rest) else { return }
        if taken == 0 { continue }
      }
      if !rest.isEmpty { room = draft.sending.installs?.roomOrLook(install, at: now) ?? .now }
      if room == .now, draft.picker.count >= draft.allowance { return }
    }
  }

  /// Whether what was read in another read may join the request.
  private func mayHoldMore(_ draft: RequestDraft, _ lane: DeliveryLane) -> Bool {
    draft.picker.count == 0 || !lane.upstream.habits.keepsRequestsApart
  }

  /// Takes the first of an install's parked events; nil when they don't fit in with those that were picked.
  private func take(
    _ draft: inout RequestDraft, _ lane: DeliveryLane, _ events: EventRanges, _ tries: ParkedEvents.Sent?,
    _ wanted: Int, _ rest: inout EventRanges
  ) throws(LogError) -> Int? {
    let target = draft.buffers.batch
    let isFirst = target.events.isEmpty
    let batch = isFirst ? target : scratch
    let bytes = isFirst ? 0 : target.eventBytes
    let upstream = lane.upstream
    guard bytes < upstream.limits.bytes / 2 || isFirst else { return nil }
    guard
      try subscription.read(
        lane.lane, again: events.first(wanted), limit: upstream.limit(wanted, bytesUsed: bytes), into: batch),
      let last = batch.events.last
    else {
      rest = EventRanges()
      return 0
    }
    // (A single event that is too long for what is left is read all the same.)
    if !isFirst, !fits(batch, behind: target, upstream) { return nil }
    rest.remove(through: last.sequence, taken: batch.events.count)
    var position = RunPosition(events)
    let expired = batch.events.filter(draft.picker.isExpired)
    if !expired.isEmpty {
      expire(expired, of: batch, lane) { tries?.tries(of: $0.sequence) ?? Tries() }
    }
    draft.join(batch.events.first.flatMap { tries?.tries(of: $0.sequence) } ?? Tries())
    var isSkipped = false
    for event in batch.events {
      // (What is left out ends the run: it isn't the request's to acknowledge, whether it could be buried or not.)
      let follows = position.follows(event.sequence) && !isSkipped
      isSkipped = draft.picker.isExpired(event)
      if isSkipped { continue }
      draft.sending.installs?.take(event.index.installHash, 1)
      draft.picker.take(event, follows: follows)
      if !isFirst {
        target.append(
          event, app: batch.app(of: event), bytes: batch.bytes(of: event), envelope: batch.envelope(of: event))
      }
    }
    if isFirst { target.keep { !draft.picker.isExpired($0) } }
    draft.picker.breakOff()
    return batch.events.count
  }

  /// Reads on in the lane until the request is nearly full.
  private func readOnward(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) {
    if lane.needsRewind, lane.state.holdsNothing, draft.picker.count == 0 {
      subscription.rewind(lane.lane)
      lane.needsRewind = false
    }
    var reads = 0
    let target = draft.buffers.batch
    let upstream = lane.upstream
    let isApart = upstream.habits.keepsRequestsApart
    while draft.picker.count < draft.allowance - draft.allowance / 8, reads < Self.readsMax, !lane.state.isParkingFull,
      mayHoldMore(draft, lane)
    {
      reads += 1
      let isFirst = draft.picker.count == 0
      let batch = isFirst ? target : scratch
      let bytes = isFirst ? 0 : target.eventBytes
      if !isFirst, bytes > upstream.limits.bytes / 2 || target.events[0].kind == .identify { return }
      // (What was tried before a restart goes as it was, without what came since.)
      let most = min(
        draft.allowance - draft.picker.count, isFirst && !isApart ? lane.state.restoredEvents ?? .max : .max)
      guard try subscription.read(lane.lane, limit: upstream.limit(most, bytesUsed: bytes), into: batch) else {
        if reads == 1, isFirst { try foundNothing(lane) }
        return
      }
      guard isFirst || fits(batch, behind: target, upstream) else { return keepForNext(batch, lane) }
      let known = isApart ? batch.events.first.flatMap { lane.state.takeTries(ofRequestAt: $0.sequence) } : nil
      let restored = known ?? (isFirst ? lane.state.takeRestoredTries() : Tries())
      draft.join(restored)
      let read = batch.events.count
      if isApart { pickWhole(&draft, lane) } else { pick(&draft, lane, from: batch, into: target) }
      if restored.unanswered > 0, draft.picker.count > 0 { return }
      // All of it went, or there is no more.
      if isFirst, draft.picker.count == read { return }
      if subscription.pending(lane.lane).events <= lane.state.held + draft.picker.count { return }
    }
  }

  private func fits(_ batch: EventBatch, behind target: EventBatch, _ upstream: AppUpstream) -> Bool {
    target.events.first?.kind == batch.events.first?.kind && batch.events.first?.kind == .event
      && target.eventBytes + batch.eventBytes + upstream.frameBytes <= upstream.limits.bytes
  }

  /// What was read and fits into no request with the others is sent next, by itself.
  private func keepForNext(_ batch: EventBatch, _ lane: DeliveryLane) {
    var events = EventRanges()
    for event in batch.events { events.append(event.sequence, follows: !events.isEmpty) }
    lane.state.again.append(Portion(events: events, attempts: 0))
  }

  /// The log gave nothing though something should wait.
  private func foundNothing(_ lane: DeliveryLane) throws(LogError) {
    guard subscription.pending(lane.lane).events > lane.state.held else { return }
    lane.needsRewind = true
    throw LogError("The log gives none of the events that wait; it is read again.")
  }

  private func readIfFull(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) -> Bool {
    if lane.needsRewind { subscription.rewind(lane.lane) }
    lane.needsRewind = true
    let batch = draft.buffers.batch
    guard try subscription.read(lane.lane, limit: lane.upstream.limit(draft.allowance), into: batch) else {
      return false
    }
    if isPartFilled(lane, batch) { return false }
    lane.needsRewind = false
    pick(&draft, lane, from: batch, into: batch)
    return true
  }

  /// Whether more events fit; then notes from how many on it is worth looking again.
  private func isPartFilled(_ lane: DeliveryLane, _ batch: EventBatch) -> Bool {
    let read = batch.events.count
    guard subscription.pending(lane.lane).events <= read else { return false }
    lane.fullFrom = max(read + 1, read * lane.upstream.limits.bytes / max(batch.eventBytes, 1))
    return true
  }

  /// Picks from the request's own batch what was read by runs; what isn't taken is left out of it.
  private func pick(_ draft: inout RequestDraft, _ lane: DeliveryLane, runs: EventRanges) {
    var position = RunPosition(runs)
    pick(&draft, lane, from: draft.buffers.batch, into: draft.buffers.batch) { position.follows($0) }
  }

  private func pick(
    _ draft: inout RequestDraft, _ lane: DeliveryLane, from batch: EventBatch, into target: EventBatch,
    follows: (UInt64) -> Bool = { _ in true }
  ) {
    if batch === target, draft.picker.takesAll, lane.state.parked.isEmpty, lane.state.underWay.requests == 0,
      draft.sending.installs == nil
    {
      return draft.picker.takeAll(batch.events, follows: follows)
    }
    let underWay = lane.state.underWay
    var picks: [BatchPicker.Pick] = []
    picks.reserveCapacity(batch.events.count)
    var isWhole = true
    for event in batch.events {
      if !follows(event.sequence) { draft.picker.breakOff() }
      let pick = draft.picker.pick(event, &lane.state.parked, underWay, &draft.sending.installs)
      if pick == .parked, draft.attempts > 0 {
        lane.state.parked.note(
          event.index.installHash, ParkedEvents.Sent(through: event.sequence, tries: draft.tries))
      }
      picks.append(pick)
      isWhole = isWhole && pick == .taken
      if batch !== target, pick == .taken {
        target.append(
          event, app: batch.app(of: event), bytes: batch.bytes(of: event), envelope: batch.envelope(of: event))
      }
    }
    guard !isWhole else { return }
    let expired = zip(batch.events, picks).filter { $0.1 == .expired }.map(\.0)
    if !expired.isEmpty { expire(expired, of: batch, lane) { _ in draft.tries } }
    guard batch === target else { return }
    var index = 0
    target.keep { _ in
      index += 1
      return picks[index - 1] == .taken
    }
  }
}

/// Walks the runs of what is read again, to tell which events follow one another in the lane.
struct RunPosition {
  private let runs: [EventRanges.Run]
  private var at = 0
  private var isInside = false

  init(_ events: EventRanges) { runs = events.runs }

  /// Whether the event comes right behind the one asked for before.
  mutating func follows(_ number: UInt64) -> Bool {
    while at < runs.count, runs[at].numbers.upperBound < number {
      at += 1
      isInside = false
    }
    defer { isInside = true }
    return isInside
  }
}

extension EventBatch {
  /// Bytes of the events, with a comma each.
  var eventBytes: Int { events.reduce(0) { $0 + $1.index.length + 1 } }
}
