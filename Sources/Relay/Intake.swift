import Configuration
import Dedupe
import Delivery
import EventLog
import Ingest
import Observability

/// What is decided about events at the door besides the rules of the API: whether they are taken in at all, how many, and
/// which of them are known already.
final class Intake: Sendable {
  let gate = IngestGate()
  let limit: SenderLimit
  /// Nil when `ingest.dedupe.window` is 0s.
  let deduplication: Deduplication?
  let ids: IDKeeper?

  /// Takes up the ids that are remembered; to be made before events are taken in.
  init(_ daemon: Daemon, _ storage: Storage) throws {
    let ingest = daemon.configuration.ingest
    limit = SenderLimit(perMinute: ingest.maxEventsPerMinute, logger: daemon.logger)
    let directory = "\(storage.directory)/dedupe"
    guard ingest.dedupe.window > .zero else {
      deduplication = nil
      ids = nil
      try IDKeeper.remove(from: storage.log, directory: directory)
      return
    }
    let deduplication = Deduplication(window: ingest.dedupe.window, maxIDs: ingest.dedupe.maxIDs)
    self.deduplication = deduplication
    ids = try IDKeeper.open(
      deduplication, maxIDs: ingest.dedupe.maxIDs, log: storage.log, directory: directory,
      behindMax: min(64 << 20, daemon.configuration.log.maxSize / 4), disk: daemon.surroundings.disk,
      clock: daemon.clock,
      logger: daemon.logger)
    daemon.metrics.gauge("event_relay_ingest_remembered_ids", "Event ids by which duplicates are found.") {
      Double(deduplication.counts.ids)
    }
    daemon.metrics.counter(
      "event_relay_ingest_forgotten_ids_total",
      "Event ids forgotten before their time, since there were more than ingest.dedupe.max_ids."
    ) { Double(deduplication.counts.evicted) }
  }

  /// Forgets the ids of events that the upstream will never take, so that a corrected resend counts.
  ///
  /// (Not for other destinations' dead letters: the event is where it was accepted for all the same.)
  var didBury: BurialObserver? {
    guard let ids else { return nil }
    return { app, events in ids.forget(app: app, events) }
  }

  func start() { ids?.start() }

  func stop(until deadline: ContinuousClock.Instant) async { await ids?.stop(until: deadline) }
}
