import CPlatform
import Clocks
import Configuration
import EventLog
import Glibc
import Observability
import Replay

/// The relay: takes events in, keeps them, and sends them on, until it is told to stop.
public final class Daemon: Sendable {
  public struct Options: Sendable {
    /// Also start the stand-in upstream in this process and send there.
    public var standsIn = false
    /// Events accepted for another upstream go to the configured one.
    public var adopts = false

    public init(standsIn: Bool = false, adopts: Bool = false) {
      self.standsIn = standsIn
      self.adopts = adopts
    }

    /// A configuration as a relay with these options has it.
    func applied(to configuration: RelayConfiguration) -> RelayConfiguration {
      var configuration = configuration
      // The stand-in never gets a real backlog: it has a data directory of its own.
      if standsIn { configuration.dataDirectory += "-stand-in" }
      return configuration
    }
  }

  let configuration: RelayConfiguration
  /// Where the configuration was read, for a reload.
  let source: ConfigurationSource
  let options: Options
  let environment: [String: String]
  let surroundings: Surroundings
  let metrics = MetricsRegistry()
  let logger: Logger
  let manager: ServiceManager

  public init(
    configuration: RelayConfiguration, options: Options, environment: [String: String], source: ConfigurationSource,
    surroundings: Surroundings = .system
  ) {
    let configuration = options.applied(to: configuration)
    self.configuration = configuration
    self.source = source
    source.accept()
    self.options = options
    self.environment = environment
    self.surroundings = surroundings
    manager = ServiceManager(environment: environment)
    logger = Logger(
      level: LogLevel(configuration.logging), format: LogFormat(configuration.logging),
      clock: surroundings.clock)
  }

  var clock: WallClock { surroundings.clock }

  /// Runs until a signal says stop. To be called once.
  /// - Returns: the process's exit code: 0 after a clean stop, 1 when the relay couldn't start.
  public func run() async -> Int32 {
    // A burst of large bodies must not be remembered in memory.
    platform_map_large_memory()
    Signals.block()
    let signals = Signals.stream()
    StartChecks.checkUser(logger)
    do {
      let shares = try OpenFileLimit.makeRoom(
        for: OpenFileNeeds(configuration, standsIn: options.standsIn), logger)
      let storage = try Storage(configuration, surroundings, metrics: metrics, logger: logger)
      storage.log.setOpenFilesMax(shares.segments)
      let standIn = try options.standsIn ? EmbeddedStandIn(storage.directory, logger: logger) : nil
      let intake = try Intake(self, storage)
      let destinations = try Destinations(
        self, storage, intake, standInURL: standIn?.url, files: shares)
      let replays = ReplayDesk(ReplayDesk.Room(storage, destinations, clock, logger))
      let listeners = try Listeners(
        self, storage, intake, destinations, replays: replays, standIn: standIn, files: shares)

      intake.start()
      destinations.start()
      try listeners.start()
      announce(listeners, storage, standIn)
      manager.ready()
      StartChecks.checkFiles(in: storage.directory, logger)
      let watchdog = Watchdog(manager) { listeners.isLive }
      let housekeeping = Housekeeping { [clock] in
        storage.apps.forgetIdle(hasPending: destinations.isOwed)
        destinations.clampGuard.check()
        listeners.certificates.checkEnds(at: clock.now)
      }
      destinations.clampGuard.check()
      listeners.certificates.checkEnds(at: clock.now)

      let files = Housekeeping(every: FileWatch.interval) {
        await listeners.reloader.lookAtFiles()
        destinations.dropExpired()
      }

      await serve(signals, listeners)

      await listeners.reloader.close()
      manager.stopping()
      watchdog.cancel()
      housekeeping.cancel()
      files.cancel()
      let grace = listeners.reloader.running.shutdownGrace
      let deadline = ContinuousClock.now + grace
      logger.info("stopping", ["grace": .seconds(grace.seconds)])
      // A sender that doesn't end its request must not keep what waits from being sent meanwhile.
      Task { await destinations.flushAll(until: deadline) }
      await listeners.stopIngest(until: deadline)
      await replays.stop()
      await destinations.stop(until: deadline)
      await standIn?.stop()
      await listeners.stopAdmin()
      await intake.stop(until: deadline)
      storage.close()
      logger.info("stopped")
      return 0
    } catch {
      logger.error("cannot start", ["why": .text("\(error)")])
      return 1
    }
  }

  /// Answers to signals until one says stop.
  private func serve(_ signals: AsyncStream<Signals.Wish>, _ listeners: Listeners) async {
    for await wish in signals {
      switch wish {
      case .stop: return
      // (Not waited for: a wish to stop must be seen meanwhile.)
      case .reload: Task { await listeners.reloader.reload(by: "SIGHUP") }
      }
    }
  }

  private func announce(_ listeners: Listeners, _ storage: Storage, _ standIn: EmbeddedStandIn?) {
    for address in listeners.ingestAddresses { logger.info("ingest listens", ["address": .text(address)]) }
    logger.info("admin listens", ["address": .text(listeners.adminAddress)])
    if let standIn { logger.info("the stand-in upstream listens", ["address": .text(standIn.address)]) }
    AddressBook(
      ingest: listeners.ingestAddresses, admin: listeners.adminAddress, standIn: standIn?.address,
      adminKey: listeners.certificates.shown(by: .admin)?.facts?.keyPin
    ).write(to: storage.directory, logger: logger)
    logger.info(
      "ready",
      ["version": .text(RelayVersion.current), "relay": .text(storage.instanceID), "data": .text(storage.directory)])
  }
}

extension LogLevel {
  init(_ logging: RelayConfiguration.Logging) { self = LogLevel(rawValue: logging.level.rawValue) ?? .info }
}

extension LogFormat {
  init(_ logging: RelayConfiguration.Logging) { self = LogFormat(rawValue: logging.format.rawValue) ?? .text }
}

/// The version that `--version`, `/status` and `build_info` tell.
public enum RelayVersion {
  public static let current = "0.1.0"
}
