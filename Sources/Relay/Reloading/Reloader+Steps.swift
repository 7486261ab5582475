import Apps
import Configuration
import DeadLetters
import EventLog
import HTTPServer
import Observability

extension Reloader {
  /// Does a plan's steps in their order; the parts that didn't take.
  func carryOut(_ plan: ReloadPlan) async -> [ReloadOutcome.Failure] {
    var failures: [String: String] = [:]
    for step in plan.steps {
      for (name, reason) in await carryOut(step, of: plan, without: Set(failures.keys)) { failures[name] = reason }
    }
    return failures.sorted { $0.key < $1.key }.map { name, reason in
      ReloadOutcome.Failure(key: ReloadPlan.key(ofSink: name), message: reason)
    }
  }

  /// - Parameter failed: sinks that didn't stop, and can't be made anew.
  /// - Returns: why sinks didn't stop or start, by name.
  private func carryOut(
    _ step: ReloadPlan.Step, of plan: ReloadPlan, without failed: Set<String>
  ) async -> [String: String] {
    let new = plan.result
    switch step {
    case .logging: daemon.logger.change(level: LogLevel(new.logging), format: LogFormat(new.logging))
    case .apps:
      // With their upstreams, so that no key comes to another than its own.
      await destinations.reconfigureUpstream(new) { [daemon, storage] in
        // (Checked before, so that it can't fail.)
        do { try storage.apps.replace(apps: new.apps.map(AppDefinition.init), mode: KeyMode(new.ingest.keys)) } catch {
          daemon.logger.error("the apps can't be replaced", ["why": .text("\(error)")])
        }
      }
    case .stopSinks:
      return await destinations.stop(sinks: plan.stopping, removing: plan.removed, keep: new.positions.keep)
    case .startSinks:
      // More sinks leave fewer descriptors to senders.
      setDoorLimits(new)
      return destinations.start(sinks: plan.starting.filter { !failed.contains($0.name) })
    case .log: storage.setLimits(new.log)
    case .deadLetters: destinations.deadLetters.setLimits(DeadLetterLimits(new.deadLetters))
    case .positions: destinations.keepRemovedSinks(for: new.positions.keep)
    case .upstream: await destinations.reconfigureUpstream(new)
    case .ingest:
      setDoorLimits(new)
      if certificates.take(.ingest) { certificates.checkEnds(at: daemon.clock.now) }
      intake.limit.change(perMinute: new.ingest.maxEventsPerMinute)
      intake.ids?.change(window: new.ingest.dedupe.window)
    case .admin:
      // Before the certificates: it knows by itself which connections were let in by those, and asks the others for others.
      gate.change(AdminAccess(new.admin))
      if certificates.take(.admin) {
        tellAdminKey()
        certificates.checkEnds(at: daemon.clock.now)
      }
    // It is asked for when the relay stops.
    case .shutdown: break
    }
    return [:]
  }

  /// Takes new limits of senders' connections, as far as there are descriptors for them.
  private func setDoorLimits(_ new: RelayConfiguration) {
    var senders = HTTPServerConfiguration(new.ingest)
    do {
      let needs = OpenFileNeeds(new, standsIn: daemon.options.standsIn)
      let shares = try OpenFileLimit.makeRoom(for: needs, daemon.logger)
      senders.maxConnections = shares.connections
      storage.log.setOpenFilesMax(shares.segments)
      destinations.factory.lineFiles.change(to: shares.lineFiles)
    } catch {
      // It runs, so it goes on, with as few as can be.
      daemon.logger.warning("too few open files", ["why": .text("\(error)")])
      senders.maxConnections = OpenFileNeeds.connectionsMin
    }
    ingest.setLimits(from: senders)
  }

  /// Leaves the admin listener's public key where commands look for it.
  private func tellAdminKey() {
    guard var addresses = AddressBook(directory: storage.directory) else { return }
    addresses.adminKey = certificates.shown(by: .admin)?.facts?.keyPin
    addresses.write(to: storage.directory, logger: daemon.logger)
  }

  /// - Throws: when the apps contradict each other.
  static func check(_ configuration: RelayConfiguration) throws(AppsError) {
    _ = try AppRegistry(
      apps: configuration.apps.map(AppDefinition.init), mode: KeyMode(configuration.ingest.keys), storage: nil,
      logger: .silent)
  }
}

extension KeyMode {
  init(_ keys: RelayConfiguration.Ingest.Keys) { self = keys == .any ? .any : .listed }
}
