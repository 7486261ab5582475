import DeadLetters
import EventLog
import JSON
import Observability

extension UpstreamEngine {
  /// Makes positions durable soon: no sooner than so long after the last time.
  func requestCommit(within interval: Duration) {
    let due = max(now, lastCommit + interval, commitNotBefore)
    if let commitDue, commitDue <= due { return }
    commitDue = due
    if due > now { timers.add(due, .commit) }
  }

  /// Makes what must be remembered durable soon; the more lanes there are to be remembered, the more of them at once.
  func requestUrgentCommit() {
    requestCommit(within: max(Self.urgentCommitInterval, .milliseconds(1) * lanes.count, commitPause))
  }

  /// Makes what was acknowledged durable.
  func requestUsualCommit() { requestCommit(within: max(Self.commitInterval, commitPause)) }

  /// The more lies parked, the larger are the positions: whatever a commit takes, it takes no more than a twentieth of the time.
  private static var commitPauseFactor: Int { 20 }
  private static var commitPauseMax: Duration { .seconds(5) }

  /// Shares out anew what may be parked.
  private func shareParked() {
    let runs = lanes.values.map(\.state.parkedRuns)
    let level = ParkedShare.level(runs)
    guard level != parkedLevel else { return }
    parkedLevel = level
    for lane in lanes.values { lane.state.limitParking(to: level) }
  }

  func commitIfDue() {
    if isPositionDirty, inFlight == 0, isQueueEmpty {
      requestCommit(within: max(Self.urgentCommitInterval, commitPause))
    }
    guard let commitDue, commitDue <= now, !isStopped else { return }
    do throws(LogError) {
      try commit()
    } catch {
      noteCommitFailure(error)
    }
  }

  /// Delivery goes on: what isn't on record would be sent again after a crash, with the same ids.
  func noteCommitFailure(_ error: LogError) {
    context.logger.error(
      "positions can't be written; they are kept in memory", about: UpstreamContext.destination,
      ["reason": .text(error.description)])
    board.change { $0.commitFault = error.description }
    commitNotBefore = now + Self.localRetry
    commitDue = commitNotBefore
    timers.add(commitNotBefore, .commit)
  }

  /// Makes durable at once what must be on record before something is sent. What can't be written now is written with the next
  /// commit; events don't wait for it.
  func commitNow() {
    guard now >= commitNotBefore else { return }
    do throws(LogError) {
      try commit()
    } catch {
      noteCommitFailure(error)
    }
  }

  /// Makes all that was acknowledged durable, with the delays and the dead letters' mark.
  func commit() throws(LogError) {
    if isRecordDirty { fillRecord() }
    // (A bare nil would become JSON's null here.)
    let began = now
    let attachment: JSONValue? = isRecordDirty ? .some(record.json) : .none
    try subscription.commit(attachment: attachment)
    if isRecordDirty { committedDeadLetters = record.deadLetters }
    if board.snapshot.commitFault != nil { board.change { $0.commitFault = nil } }
    isRecordDirty = false
    isPositionDirty = false
    commitDue = nil
    lastCommit = now
    commitPause = min((lastCommit - began) * Self.commitPauseFactor, Self.commitPauseMax)
    shareParked()
  }
}

extension UpstreamEngine {
  /// The record says no more that the last life ended in order, before anything is sent in this one.
  func beginLife() throws(LogError) {
    guard record.endedAt != nil else { return }
    var begun = record
    begun.endedAt = nil
    try subscription.commit(attachment: begun.json)
    // (Not before: whoever tries again would find nothing to do.)
    record = begun
  }

  private func fillRecord() {
    let now = now
    record.lanes = lanes.values.compactMap { lane in
      var entry = lane.state.record(of: lane.lane, app: lane.app)
      entry?.refusedKey = lane.refusedKey
      return entry
    }
    record.endedAt = isDraining && inFlight == 0 && !isLastLifeUnclear ? context.clock.now : nil
    record.keys =
      allKeys.compactMap { $0.record(at: now, isLast: record.endedAt != nil) } + recordsNotTakenUp
    record.pauses = pauseRecords
    record.tried = triedRecords
  }
}
