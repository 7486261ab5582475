import Clocks
import EventLog
import Observability
import Records

extension WebhookWorker {
  /// At start: the record, the dead letters cut back to it, and the batch that was under way.
  func openIfNeeded(_ now: ContinuousClock.Instant) throws(WebhookFailure) {
    guard record == nil else { return }
    let record: WebhookRecord
    do throws(WebhookRecordError) {
      record = try WebhookRecord(context.subscription.attachment)
    } catch {
      throw .record(error)
    }
    // (It may have worked the last time, and what comes below not.)
    context.deadLetters.close(context.name)
    let behind = try deadLetters { (store) throws(FileError) in try store.numbers(behind: record.deadLetters) }
    let owed: OwedNumbers
    do throws(LogError) {
      owed = try context.subscription.owed(among: behind)
    } catch {
      throw .log(error)
    }
    try deadLetters { (store) throws(FileError) in
      try store.recover(context.name, mark: record.deadLetters, keepsLetters: !owed.isAll)
    }
    state = record.trying.map { WebhookState(restored: $0, now: now, wallNow: clock.now) } ?? WebhookState()
    lastError = state.notice?.detail
    if let batch = record.batch, !(try takeUp(batch)) {
      logger.info("the batch under way is not what it was, and is put together anew", about: context.name)
      state.forgetBatch()
    }
    self.record = record
    if record.batch != nil, case .gathering = phase { self.record?.plan = nil }
    isPlanRestored = self.record?.plan != nil
    committedDeadLetters = record.deadLetters
    if case .gathering = phase { self.record?.batch = nil }
  }

  /// Reads a batch again whose events are on record; false when they aren't what they were: dropped meanwhile, or by
  /// another filter.
  private func takeUp(_ batch: WebhookRecord.Batch) throws(WebhookFailure) -> Bool {
    startAnew()
    let limit = ReadLimit(events: 1000, bytes: Self.readBytesMax, lastSequence: batch.last)
    while try read(limit, from: batch.isReplayed ? .allReplayed : .all) {
      for event in reader.batch.events {
        guard body.count < batch.count, add(event) else {
          startAnew()
          return false
        }
      }
      reader.noteRest(wanted: reader.batch.events.count)
    }
    guard body.count == batch.count, body.range == batch.first...batch.last else {
      startAnew()
      return false
    }
    close(at: batch.at)
    return true
  }

  /// Lets the body grow by what there is to read; nil when it is whole.
  func gather(_ now: ContinuousClock.Instant, _ settles: Bool) throws(WebhookFailure) -> SinkStep? {
    for _ in 0..<Self.readsMax where !isFull {
      // A batch holds new events or such as are sent again, never both: the two have numbers of their own.
      guard try read(limit, from: body.isEmpty ? nil : reader.lane) else {
        if !body.isEmpty, settles || now >= lingerUntil ?? now || othersWait {
          closeNow()
          return nil
        }
        if needsCommit || (settles && hasSettled) { try commit() }
        let due = hasSettled ? commitDue : now + Self.idleInterval
        return .wait(until: min(lingerUntil ?? due, due))
      }
      guard addRead(now) else {
        closeNow()
        return nil
      }
    }
    if isFull {
      closeNow()
      return nil
    }
    if needsCommit { try commit() }
    return .again
  }

  /// The other lane has events: they don't linger for this one's.
  private var othersWait: Bool { context.subscription.pending(reader.lane.counterpart).events > 0 }

  private var isFull: Bool { body.count >= eventsMax || body.length >= Self.bodyBytesEnough }

  /// Events that a batch may hold. What an earlier run may have sent is cut as that run cut it.
  private var eventsMax: Int {
    isPlanRestored ? record?.plan?.eventsMax ?? options.maxBatchEvents : options.maxBatchEvents
  }

  /// Adds what was read to the body; false when not all of it has room.
  private func addRead(_ now: ContinuousClock.Instant) -> Bool {
    let events = reader.batch.events
    for index in events.indices where !add(events[index]) {
      reader.note(events[..<index])
      return false
    }
    reader.noteRest(wanted: events.count)
    if body.isEmpty {
      // Nobody wants any of it: it is off the books now, so that the log needn't keep it.
      if reader.acknowledge() { hasSettled = true }
    } else if lingerUntil == nil, let first = events.first {
      // The wall clock may have jumped since: never longer than the whole linger.
      lingerUntil = now + max(options.linger - max(clock.now - first.receivedAt, .zero), .zero)
    }
    return true
  }

  /// What may still be read into the body: lines are longer than their events.
  private var limit: ReadLimit {
    let room = Self.bodyBytesMax - body.length - WebhookBody.lineBytesLikelyMax
    return ReadLimit(events: eventsMax - body.count, bytes: max(1, min(room, Self.readBytesMax)))
  }

  private func add(_ event: StoredEvent) -> Bool {
    let batch = reader.batch
    return body.append(
      event, app: batch.app(of: event), bytes: batch.bytes(of: event), bytesMax: Self.bodyBytesMax)
  }

  private func read(_ limit: ReadLimit, from lane: Lane?) throws(WebhookFailure) -> Bool {
    do throws(LogError) {
      return try reader.read(limit, from: lane)
    } catch {
      // What was gathered is in the log still.
      startAnew()
      throw .log(error)
    }
  }

  private func closeNow() {
    guard let range = body.range else { return }
    if let moment = plannedMoment(of: range) { return close(at: moment) }
    let moment = clock.now
    record?.batch = batch(of: range, at: moment)
    if !reader.lane.isReplayed {
      record?.plan = WebhookPlan(after: range.upperBound, eventsMax: options.maxBatchEvents, at: moment)
      isPlanRestored = false
    }
    needsCommit = true
    close(at: moment)
  }

  /// Puts the batch at the front on record by its bounds, if it was by plan.
  func recordBounds() {
    guard record?.batch == nil, let range = body.range, let plan = record?.plan else { return }
    record?.batch = batch(of: range, at: plan.at)
  }

  /// Nothing is sent by the plan any more: what comes next is put together anew, and gets its own moment.
  func endPlan() {
    guard record?.plan != nil, !isPlanRestored else { return }
    switch phase {
    case .ready, .inFlight, .burying: recordBounds()
    case .gathering: break
    }
    record?.plan = nil
    needsCommit = true
  }

  private func batch(of range: ClosedRange<UInt64>, at moment: Timestamp) -> WebhookRecord.Batch {
    WebhookRecord.Batch(
      first: range.lowerBound, last: range.upperBound, count: body.count, isReplayed: reader.lane.isReplayed, at: moment
    )
  }

  /// The moment that the plan on record gives the batch; nil when it says nothing of it, and its bounds must be on record.
  private func plannedMoment(of range: ClosedRange<UInt64>) -> Timestamp? {
    guard let plan = record?.plan, !reader.lane.isReplayed, body.length < Self.bodyBytesEnough,
      plan.covers(range, count: body.count), isPlanRestored || plan.isFresh(at: clock.now)
    else { return nil }
    return plan.at
  }

  private func close(at moment: Timestamp) {
    body.close(at: moment)
    lingerUntil = nil
    phase = .ready(id: WebhookSignature.id(of: body.bytes, destination: context.name))
  }

  /// Lets go of the body; its events are read again.
  private func startAnew() {
    phase = .gathering
    body.removeAll()
    lingerUntil = nil
    reader.rewind()
  }

  /// Gives up the oldest events, as the user wants it. The batch at the front is among them, unless it is a replay's.
  func dropBehind() throws(WebhookFailure) {
    if body.isEmpty || !reader.lane.isReplayed {
      startAnew()
      state.forgetBatch()
      record?.batch = nil
    }
    // (It counts from where the position was.)
    record?.plan = nil
    isPlanRestored = false
    do throws(LogError) {
      try reader.dropBehind()
    } catch {
      throw .log(error)
    }
    try commit()
  }
}
