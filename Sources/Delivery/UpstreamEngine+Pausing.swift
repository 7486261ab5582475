import Clocks
import EventLog
import Observability

// Keys that the upstream refuses, of protocols that want all that is sent with one to wait then.
extension UpstreamEngine {
  /// Whether a lane waits while its key is refused. One whose user has refused events given up does not.
  private func obeysPauses(_ lane: DeliveryLane) -> Bool {
    lane.upstream.habits.onRefusal == .holdAtOnce && lane.upstream.configuration.onRefusedKey == .hold
  }

  /// The key that a lane sends with, if it is paused and the lane has to wait for that.
  private func pausedKey(of lane: DeliveryLane) -> SendingKey? {
    guard obeysPauses(lane), let key = context.keys.upstreamKey(ofApp: lane.app) else { return nil }
    let known = lane.outlet.keys[key] ?? (pausesOnRecord.isEmpty ? nil : sendingKey(key, lane))
    return known?.pause == nil ? nil : known
  }

  /// What a lane has to wait for because of its key's pause; nil: it may send.
  func pause(of lane: DeliveryLane) -> LaneDelay? { pausedKey(of: lane)?.pause?.wait(at: now) }

  func isPaused(_ lane: DeliveryLane) -> Bool { pausedKey(of: lane) != nil }

  /// The key of a request was refused: the events wait, and so does all else that is sent with it.
  ///
  /// - Parameter detail: what the lanes tell.
  func pause(_ flight: Flight, _ detail: String) {
    putBack(flight)
    answered(flight)
    let sending = flight.sending
    guard sending.pause?.isNews(flight.id) ?? true else { return }
    sending.pause = KeyPause(
      LaneDelay(length: KeyPause.length, state: .refused, detail: detail, now: now, wallNow: context.clock.now),
      lastBefore: nextFlight)
    isRecordDirty = true
    requestUrgentCommit()
    board.change { $0.lastError = "\(flight.lane.app): \(detail)" }
    if flight.lane.isNews("held: \(RefusalBreaker.Cause.key)") {
      context.logger.warning(
        "the upstream refuses an app's key; all that is sent with it is held", about: UpstreamContext.destination,
        ["app": .text(flight.lane.app), "reason": .text(detail), "retry_in": .seconds(KeyPause.length.seconds)])
    }
  }

  /// Has a request that goes out with a paused key ask for all the others. On record before it goes, so that a crash makes for
  /// no second one.
  func ask(_ flight: Flight) {
    guard flight.sending.pause != nil, obeysPauses(flight.lane) else { return }
    flight.sending.pause?.asks(
      flight.id, longest: flight.upstream.requestTimeMax, now: now, wallNow: context.clock.now)
    isRecordDirty = true
    commitNow()
  }

  /// The upstream has taken the key of a request: whoever waited for that goes on.
  func endPause(_ flight: Flight) {
    guard let pause = flight.sending.pause, pause.isNews(flight.id) else { return }
    flight.sending.pause = nil
    isRecordDirty = true
    requestUrgentCommit()
    // (The request's own lane is looked at when its events are settled.)
    for lane in lanes.values where lane.pausedBy === flight.sending && lane !== flight.lane { consider(lane) }
  }

  /// Lets a lane wait for its key's pause.
  func notePause(_ lane: DeliveryLane) { lane.pausedBy = pausedKey(of: lane) }

  /// Has a lane tell no more of a pause that isn't its own any more: it is over, or the lane has another key or upstream.
  func leavePause(_ lane: DeliveryLane) {
    guard let paused = lane.pausedBy, paused !== pausedKey(of: lane) else { return }
    if let key = context.keys.upstreamKey(ofApp: lane.app), key != paused.key {
      context.logger.info(
        "the app has another key: what waits is sent with it", about: UpstreamContext.destination,
        ["app": .text(lane.app)])
    }
    forgetPause(lane)
  }

  /// Has a lane tell nothing of a pause.
  func forgetPause(_ lane: DeliveryLane) {
    guard lane.pausedBy != nil else { return }
    lane.pausedBy = nil
    lane.blocked = nil
    lane.toldOf = []
    // (It may tell of something of its own by now.)
    if lane.notice?.state == .refused { lane.notice = nil }
  }

  // MARK: Over a restart

  /// Takes up the pauses that a life before had on record.
  ///
  /// - Returns: by the keys' fingerprints. (A program that knew pauses of single lanes alone has the key with those.)
  static func pauses(of record: UpstreamRecord) -> [String: UpstreamRecord.PauseRecord] {
    var pauses: [String: UpstreamRecord.PauseRecord] = [:]
    for lane in record.lanes where lane.refusals > 0 && lane.refused == .key {
      guard let key = lane.refusedKey, pauses[key].map({ $0.retryAt < lane.retryAt }) ?? true else { continue }
      pauses[key] = UpstreamRecord.PauseRecord(
        key: key, retryAt: lane.retryAt, wait: lane.wait, detail: lane.detail)
    }
    for pause in record.pauses { pauses[pause.key] = pause }
    return pauses
  }

  /// Gives a key that is sent with for the first time in this life the pause it had in the last one.
  func takeUpPause(_ sending: SendingKey, _ lane: DeliveryLane) {
    guard lane.upstream.habits.onRefusal == .holdAtOnce,
      let pause = pausesOnRecord.removeValue(forKey: sending.id)
    else { return }
    sending.pause = KeyPause(
      LaneDelay(restored: pause, now: now, wallNow: context.clock.now), lastBefore: nextFlight)
  }

  /// What has to be on record: also of keys that nothing was sent with in this life, as long as somebody may.
  var pauseRecords: [UpstreamRecord.PauseRecord] {
    let wallNow = context.clock.now
    return allKeys.compactMap { sending in
      sending.pause.map {
        UpstreamRecord.PauseRecord(
          key: sending.id, retryAt: $0.delay.retryAt, wait: $0.delay.length, detail: $0.delay.detail)
      }
    } + pausesOnRecord.values.filter { $0.retryAt + KeyPause.keptFor > wallNow }.sorted { $0.key < $1.key }
  }
}
