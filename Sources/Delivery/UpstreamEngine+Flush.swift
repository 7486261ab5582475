import EventLog

/// Somebody waits until what waited when they asked is settled.
struct FlushRequest {
  let deadline: ContinuousClock.Instant
  /// By lane, how many of those events are left.
  var left: [Lane: Int]
  var waiter: CheckedContinuation<Void, Never>?
}

extension UpstreamEngine {
  /// Skips lingering for what waits now, and returns when it is settled, can't be before the deadline, or that has come.
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    let before = subscription.ledger.settled[.delivered]
    if isOpen, !isStopped, deadline > now { await settleWaiting(until: deadline) }
    let ledger = subscription.ledger
    return FlushResult(flushed: Int(ledger.settled[.delivered] - before), pending: Int(ledger.waiting))
  }

  private func settleWaiting(until deadline: ContinuousClock.Instant) async {
    var request = FlushRequest(deadline: deadline, left: [:])
    for lane in subscription.pendingLanes() { request.left[lane] = subscription.pending(lane).events }
    guard !request.left.isEmpty else { return }
    let id = nextFlush
    nextFlush += 1
    flushes[id] = request
    timers.add(deadline, .flush(id))
    for lane in request.left.keys { consider(lane) }
    pump()
    // (Others may have been on this thread before the continuation is there: then nobody would resume it.)
    await withCheckedContinuation { continuation in
      if flushes[id] == nil { continuation.resume() } else { flushes[id]?.waiter = continuation }
    }
  }

  func skipsLinger(_ lane: DeliveryLane) -> Bool {
    if flushes.isEmpty { return false }
    return flushes.values.contains { $0.left[lane.lane] != nil }
  }

  func countFlushed(_ lane: DeliveryLane, _ events: Int) {
    for id in flushes.keys {
      guard let left = flushes[id]?.left[lane.lane] else { continue }
      flushes[id]?.left[lane.lane] = left > events ? left - events : nil
    }
  }

  /// Lets those go whose events are settled, or can't be in time.
  func checkFlushes() {
    for (id, request) in flushes {
      if request.left.keys.allSatisfy({ isBlocked($0, past: request.deadline) }) { finishFlush(id) }
    }
  }

  /// Whether a lane can't send before a moment.
  private func isBlocked(_ place: Lane, past moment: ContinuousClock.Instant) -> Bool {
    guard let lane = lanes[place] else { return true }
    if let sending = lane.waitsFor { return sending.timer.map { $0 > moment } ?? false }
    return lane.blocked?.outlasts(moment) ?? false
  }

  func finishFlush(_ id: Int) {
    flushes.removeValue(forKey: id)?.waiter?.resume()
  }

  /// Sends what can be sent until the deadline, lets what is in flight finish, and puts everything on record.
  func stop(until deadline: ContinuousClock.Instant) async {
    guard !isStopped else { return }
    _ = await flush(until: deadline)
    isDraining = true
    while inFlight > 0, now < deadline {
      timers.add(deadline, .stop)
      pump()
      await withCheckedContinuation { continuation in
        if inFlight == 0 { continuation.resume() } else { idleWaiters.append(continuation) }
      }
    }
    finishStopping()
  }

  func resumeIdleWaiters() {
    let waiters = idleWaiters
    idleWaiters = []
    for waiter in waiters { waiter.resume() }
  }

  private func finishStopping() {
    guard !isStopped else { return }
    if isOpen || isInterrupted {
      if context.upstreams.isPaced || !record.keys.isEmpty { isRecordDirty = true }
      do throws(LogError) {
        try commit()
      } catch {
        context.logger.error(
          "positions can't be written; delivered events are sent again at the next start",
          about: UpstreamContext.destination, ["reason": .text(error.description)])
      }
    }
    isStopped = true
    for id in flushes.keys { finishFlush(id) }
    for lane in lanes.values { for task in lane.tasks.values { task.cancel() } }
    timerTask?.cancel()
    context.deadLetters.close(UpstreamContext.destination)
    pool.trim()
    board.change { $0.isStopped = true }
    waker.wake()
  }
}
