import DeadLetters
import EventLog
import Observability
import Records

/// An event of a batch that is given up, with the upstream's words.
struct Letter {
  var index: Int
  var code, message: String?
}

extension UpstreamEngine {
  /// Writes dead letters of a request and syncs them.
  ///
  /// - Returns: false when that fails: then the lane waits, and nothing of the letters counts.
  func bury(_ flight: Flight, _ letters: [Letter], _ outcome: Outcome, status: Int?) -> Bool {
    let secrets = flight.secrets
    let words = letters.map { letter in
      Letter(
        index: letter.index, code: letter.code.map { Flight.blanked($0, secrets) },
        message: letter.message.map { Flight.blanked($0, secrets) })
    }
    return bury(flight.lane, flight.buffers.batch, words, outcome, status: status) { _ in flight.attempts }
  }

  private func bury(
    _ lane: DeliveryLane, _ batch: EventBatch, _ letters: [Letter], _ outcome: Outcome, status: Int?,
    isHeldUp: Bool = false, attempts: (StoredEvent) -> Int
  ) -> Bool {
    let name = UpstreamContext.destination
    defer { deadLetterLines.removeAll() }
    do {
      let mark = try context.deadLetters.prepare(name)
      if committedDeadLetters?.isSameFile(as: mark) != true {
        // A file is on record before its first line, so that after a crash it is found and cut back.
        record.deadLetters = mark
        isRecordDirty = true
        try commit()
      }
      for letter in letters {
        let event = batch.events[letter.index]
        deadLetterLines.append(
          event, app: batch.app(of: event), bytes: batch.bytes(of: event),
          deadLetter: DeadLetterDetails(
            destination: name, reason: outcome, status: status, code: letter.code, message: letter.message,
            attempts: attempts(event), at: context.clock.now))
      }
      record.deadLetters = try context.deadLetters.append(name, lines: deadLetterLines)
    } catch {
      let reason = (error as? FileError)?.description ?? (error as? LogError)?.description ?? "\(error)"
      noteUnburied(lane, "Dead letters can't be written: \(reason)", isHeldUp: isHeldUp)
      return false
    }
    if let didBury = context.didBury { didBury(lane.app, letters.map { batch.events[$0.index] }) }
    isRecordDirty = true
    requestUrgentCommit()
    return true
  }

  /// A lane that sends waits. One that is held up by something else has its own wait and its own reason, which stay.
  private func noteUnburied(_ lane: DeliveryLane, _ detail: String, isHeldUp: Bool) {
    guard isHeldUp else { return fail(lane, nil, .failing, detail) }
    context.logger.error(
      "waiting events that have grown too old can't be given up", about: UpstreamContext.destination,
      ["app": .text(lane.app), "reason": .text(detail)])
    board.change { $0.lastError = "\(lane.app): \(detail)" }
  }

  /// Gives up events of a batch that have grown too old; those that can't be given up now are sent again, or that is tried.
  ///
  /// - Parameter tries: how often each was sent.
  func expire(
    _ events: [StoredEvent], of batch: EventBatch, _ lane: DeliveryLane, _ tries: (StoredEvent) -> Tries
  ) {
    guard !buryExpired(events, of: batch, lane, attempts: { tries($0).attempts }) else { return }
    var kept: [Tries: EventRanges] = [:]
    for event in events { kept[tries(event), default: EventRanges()].append(event.sequence, follows: false) }
    // (Those that were never sent are the later ones.)
    for (tries, events) in kept.sorted(by: { $0.key.attempts < $1.key.attempts }) {
      lane.state.again.append(
        Portion(events: events.sorted(), attempts: tries.attempts, unanswered: tries.unanswered))
    }
  }

  /// - Parameters:
  ///   - isHeldUp: the lane isn't sending, and has its reasons.
  ///   - attempts: how often each was sent.
  /// - Returns: false when the dead letters can't be written: then nothing of it counts.
  func buryExpired(
    _ events: [StoredEvent], of batch: EventBatch, _ lane: DeliveryLane, isHeldUp: Bool = false,
    attempts: (StoredEvent) -> Int
  ) -> Bool {
    let numbers = Set(events.map(\.sequence))
    let letters = batch.events.indices.filter { numbers.contains(batch.events[$0].sequence) }.map { Letter(index: $0) }
    guard bury(lane, batch, letters, .expired, status: nil, isHeldUp: isHeldUp, attempts: attempts) else {
      return false
    }
    for event in events { settle(lane, event.sequence...event.sequence, Tally(.expired, 1)) }
    context.logger.info(
      "events have grown older than 7 days and go to the dead letters", about: UpstreamContext.destination,
      ["app": .text(lane.app), "events": .integer(events.count)])
    return true
  }
}
