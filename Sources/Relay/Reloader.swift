import Apps
import Configuration
import JSON
import Observability
import Synchronization

/// Takes a changed configuration into use while the relay runs: the apps and their keys; the rest needs a restart, and
/// is named. A configuration with faults changes nothing.
final class Reloader: Sendable {
  private let daemon: Daemon
  private let storage: Storage
  private let intake: Intake
  private let destinations: Destinations
  private let current: Mutex<RelayConfiguration>
  private let isGood = Atomic(true)

  var isLastReloadGood: Bool { isGood.load(ordering: .relaxed) }

  init(_ daemon: Daemon, _ storage: Storage, _ intake: Intake, _ destinations: Destinations) {
    self.daemon = daemon
    self.storage = storage
    self.intake = intake
    self.destinations = destinations
    current = Mutex(daemon.configuration)
  }

  func reload(by actor: String) async -> ReloadOutcome {
    daemon.manager.reloading()
    defer { daemon.manager.ready() }
    let outcome = take(by: actor)
    isGood.store(outcome.isDone, ordering: .relaxed)
    for fault in outcome.faults {
      daemon.logger.error("the configuration has a fault; the old one is kept", about: fault)
    }
    if outcome.isDone {
      await destinations.upstream.keysChanged()
      for destination in destinations.all { await destination.reloaded() }
      daemon.logger.info(
        "configuration reloaded",
        [
          "applied": .text(outcome.applied.joined(separator: ",")),
          "needs_restart": .text(outcome.needsRestart.joined(separator: ",")),
        ])
    }
    return outcome
  }

  private func take(by actor: String) -> ReloadOutcome {
    switch daemon.readAgain() {
    case .failure(let faults): return ReloadOutcome(faults: faults.all.map(\.description))
    case .success(let new):
      return current.withLock { current in
        let changes = Self.changes(from: current, to: new)
        do {
          try storage.audit.record(
            "reload", by: actor, ["applied": .array(changes.applied.map(JSONValue.string))])
          try storage.apps.replace(
            apps: new.apps.map(AppDefinition.init), mode: new.ingest.keys == .any ? .any : .listed)
        } catch {
          return ReloadOutcome(faults: ["\(error)"])
        }
        current.apps = new.apps
        current.ingest.keys = new.ingest.keys
        intake.limit.change(perMinute: new.ingest.maxEventsPerMinute)
        current.ingest.maxEventsPerMinute = new.ingest.maxEventsPerMinute
        return changes
      }
    }
  }

  /// Which keys differ: those that take effect now, and those that need a restart.
  static func changes(from old: RelayConfiguration, to new: RelayConfiguration) -> ReloadOutcome {
    var outcome = ReloadOutcome()
    if old.apps != new.apps { outcome.applied.append("apps") }
    if old.ingest.keys != new.ingest.keys { outcome.applied.append("ingest.keys") }
    if old.ingest.maxEventsPerMinute != new.ingest.maxEventsPerMinute {
      outcome.applied.append("ingest.max_events_per_minute")
    }
    var ingest = new.ingest
    ingest.keys = old.ingest.keys
    ingest.maxEventsPerMinute = old.ingest.maxEventsPerMinute
    if ingest != old.ingest { outcome.needsRestart.append("ingest") }
    if old.admin != new.admin { outcome.needsRestart.append("admin") }
    if old.log != new.log { outcome.needsRestart.append("log") }
    if old.upstream != new.upstream { outcome.needsRestart.append("upstream") }
    if old.sinks != new.sinks { outcome.needsRestart.append("sinks") }
    if old.deadLetters != new.deadLetters { outcome.needsRestart.append("dead_letters") }
    if old.shutdownGrace != new.shutdownGrace { outcome.needsRestart.append("shutdown") }
    if old.logging != new.logging { outcome.needsRestart.append("logging") }
    return outcome
  }
}
