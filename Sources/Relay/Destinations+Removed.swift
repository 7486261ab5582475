import Clocks
import Dedupe
import EventLog
import JSON
import Observability

/// Sinks that are configured no longer: their places in the log are kept for a while.
extension Destinations {
  /// At start, before any sink is made: records of sinks whose books are closed go. (A crash left them.)
  func clearGivenUp() throws {
    let known = storage.log.knownDestinations
    for name in removed.closed where known.contains(name) {
      try storage.log.subscribe(name, origin: .newest).discard()
    }
    removed.forget(removed.closed)
  }

  /// At start: those whose place is kept.
  func takeUpRemovedSinks(keep: Duration) throws {
    let known = Set(all.map(\.name) + [IDKeeper.destination])
    for name in storage.log.knownDestinations where !known.contains(name) {
      let sink = try keepRemoved(name, keep: keep)
      logger.warning(
        "a sink is no longer configured: the log keeps what it was owed until it is put back, or its time is over",
        about: name,
        [
          "waiting": .integer(sink.subscription.pending.events),
          "until": .text(sink.kept.end?.description ?? "for ever"),
        ])
      change { $0.append(sink) }
    }
    dropExpired()
  }

  func remove(_ sink: any Destination, keep: Duration) throws(RelayError) {
    do throws(LogError) {
      let kept = try keepRemoved(sink.name, keep: keep)
      change { all in
        all.removeAll { $0 === sink }
        all.append(kept)
      }
    } catch {
      throw RelayError("sink \(sink.name)'s place in the log can't be kept: \(error)")
    }
  }

  /// Takes up a removed sink's place: it holds what it was owed when it was removed, and nothing that came after.
  private func keepRemoved(_ name: String, keep: Duration) throws(LogError) -> RemovedSink {
    let next = storage.log.nextSequence
    let entry = removed.note(name, now: clock.now, next: next)
    let log = storage.log
    let sink = RemovedSink(
      try log.subscribe(name, origin: .newest), RemovedSinkTime(removedAt: entry.removedAt, keep: keep)
    ) { log.isHolding(name) }
    do throws(LogError) {
      try log.yield(name, from: entry.heldBefore ?? next)
    } catch {
      logger.warning(
        "a removed sink holds all that comes, since the log can't be looked through", about: name,
        ["why": .text(error.description)])
    }
    return sink
  }

  /// The places of removed sinks are kept for another time.
  func keepRemovedSinks(for keep: Duration) {
    for case let sink as RemovedSink in all { sink.keep(for: keep) }
    dropExpired()
  }

  /// Gives up the places of removed sinks whose time is over; what they were owed is dropped, counted and told.
  ///
  /// What can't be done now is tried again the next time.
  func dropExpired() { changing.withLock { _ in giveUpExpired() } }

  private func giveUpExpired() {
    let newest = storage.log.newestRecordAtStart
    for case let sink as RemovedSink in all
    where removed.entry(sink.name)?.isGivenUp == true
      || sink.kept.isOver(now: clock.now, newest: newest, uptime: .now - started)
    {
      do {
        if removed.entry(sink.name)?.isGivenUp != true { try closeBooks(of: sink) }
        try discard(sink)
      } catch {
        logger.error("a removed sink's place can't be given up", about: sink.name, ["why": .text("\(error)")])
      }
    }
  }

  private func closeBooks(of sink: RemovedSink) throws {
    let ledger = sink.subscription.ledger
    try storage.audit.record(
      "drop_removed_sink", by: "positions.keep",
      ["sink": .string(sink.name), "dropped_events": JSONValue(ledger.waiting)])
    try removed.giveUp(sink.name, at: clock.now, ledger)
    logger.warning(
      "a removed sink's time is over: its place is given up, and what it was owed dropped", about: sink.name,
      ["events": .integer(Int(clamping: ledger.waiting))])
  }

  /// Removes the record of a sink whose books are closed.
  func discard(_ sink: RemovedSink) throws(LogError) {
    try sink.subscription.discard()
    removed.forget([sink.name])
    change { $0.removeAll { $0 === sink } }
  }
}
