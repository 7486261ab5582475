import Apps
import Configuration
import DeadLetters
import EventLog
import HTTPServer
import JSON
import Observability
import Sinks
import Synchronization

/// Takes a changed configuration into use while the relay runs, by a ``ReloadPlan``; what needs a restart is named. A
/// configuration with faults changes nothing.
final class Reloader: Sendable {
  let daemon: Daemon
  let storage: Storage
  let intake: Intake
  let destinations: Destinations
  let ingest: HTTPServer
  let gate: AdminGate
  let certificates: Certificates
  private let current: Mutex<RelayConfiguration>
  private let isGood = Atomic(true)
  private let turns = ReloadTurns()
  private let watch = FileWatch()

  var isLastReloadGood: Bool { isGood.load(ordering: .relaxed) }
  /// What is in use at this moment.
  var running: RelayConfiguration { current.withLock { $0 } }

  init(
    _ daemon: Daemon, _ storage: Storage, _ intake: Intake, _ destinations: Destinations, ingest: HTTPServer,
    gate: AdminGate, certificates: Certificates
  ) {
    self.daemon = daemon
    self.storage = storage
    self.intake = intake
    self.destinations = destinations
    self.ingest = ingest
    self.gate = gate
    self.certificates = certificates
    current = Mutex(daemon.configuration)
  }

  /// Reads the configuration and takes it into use. Of several at once, those that wait are one.
  @discardableResult
  func reload(by actor: String) async -> ReloadOutcome { await take(.reload(by: actor)) }

  /// Takes files of keys and certificates that have changed on disk into use; those that can't be used are told, and the
  /// ones there were stay in use.
  func lookAtFiles() async {
    guard watch.isDifferent(.look(at: daemon.source.files)) else { return }
    _ = await take(.files)
  }

  private func take(_ wish: ReloadTurns.Wish) async -> ReloadOutcome {
    await turns.take(wish) { [self] wishes in
      let actors = wishes.compactMap { if case .reload(let actor) = $0 { actor } else { nil } }
      return actors.isEmpty ? await takeFiles() : await takeFile(for: actors)
    }
  }

  /// Reloads nothing any more, and waits until what is under way is done.
  func close() async { await turns.close() }

  private func takeFile(for actors: [String]) async -> ReloadOutcome {
    daemon.manager.reloading()
    defer { daemon.manager.ready() }
    let outcome: ReloadOutcome
    switch daemon.source.read() {
    case .failure(let faults): outcome = ReloadOutcome(faults: faults.all.map(\.description))
    case .success(let read):
      let new = daemon.options.applied(to: read)
      outcome = await take(new, by: Set(actors).sorted().joined(separator: ", "))
      if outcome.faults.isEmpty { await takeUpWhatWaits() }
    }
    isGood.store(outcome.isDone, ordering: .relaxed)
    for fault in outcome.faults {
      daemon.logger.error("the configuration has a fault; the old one is kept", about: fault)
    }
    tell(outcome, "configuration reloaded")
    return outcome
  }

  private func takeFiles() async -> ReloadOutcome {
    let outcome: ReloadOutcome
    switch daemon.source.readFilesAgain() {
    case .failure(let faults): outcome = ReloadOutcome(faults: faults.all.map(\.description))
    case .success(let read):
      let new = daemon.options.applied(to: read)
      guard !plan(to: new).isEmpty else { return ReloadOutcome() }
      outcome = await take(new, by: "changed files")
      if outcome.faults.isEmpty { await destinations.upstream.keysChanged() }
    }
    for fault in outcome.faults {
      daemon.logger.warning("a changed file can't be used; what was in it before stays in use", about: fault)
    }
    tell(outcome, "changed files that the configuration names are in use")
    return outcome
  }

  private func tell(_ outcome: ReloadOutcome, _ message: StaticString) {
    for failure in outcome.failures {
      daemon.logger.error(
        "a part of the configuration did not take effect", about: failure.key, ["why": .text(failure.message)])
    }
    guard outcome.faults.isEmpty else { return }
    daemon.logger.info(
      message,
      [
        "applied": .text(outcome.applied.joined(separator: ",")),
        "needs_restart": .text(outcome.needsRestart.joined(separator: ",")),
      ])
  }

  /// Whoever gave something up until the configuration is read again.
  private func takeUpWhatWaits() async {
    await destinations.upstream.keysChanged()
    for destination in destinations.all { await destination.reloaded() }
  }

  private func plan(to new: RelayConfiguration) -> ReloadPlan {
    ReloadPlan(from: running, to: new, sinks: destinations.sinks)
  }

  /// Looks at everything first, then takes what differs into use, step by step.
  private func take(_ new: RelayConfiguration, by actor: String) async -> ReloadOutcome {
    let plan = plan(to: new)
    let faults = plan.starting.compactMap { sink in
      sink.options.path.flatMap(SinkPlace.fault).map {
        ConfigurationFault(file: daemon.source.file, line: sink.placeLine, key: sink.placeKey, message: $0).description
      }
    }
    guard faults.isEmpty else { return ReloadOutcome(faults: faults) }
    do {
      try certificates.prepare(plan.result)
      if plan.steps.contains(.apps) { try Self.check(plan.result) }
      try storage.audit.record("reload", by: actor, ["applied": .array(plan.applied.map(JSONValue.string))])
    } catch {
      return ReloadOutcome(faults: ["\(error)"])
    }
    daemon.source.accept()
    let failures = await carryOut(plan)
    let failed = Set(failures.map(\.key))
    current.withLock { current in
      current = plan.result
      // The next reload makes one that isn't there, and removes one that still is.
      current.sinks.removeAll { failed.contains(ReloadPlan.key(ofSink: $0.name)) }
    }
    return ReloadOutcome(
      applied: plan.applied.filter { !failed.contains($0) }, needsRestart: plan.needsRestart, failures: failures)
  }
}
