import Clocks
import Configuration
import EventLog
import HTTPServer
import Ingest
import JSON
import Observability
import Replay
import Synchronization

/// The two doors: ingest and admin.
final class Listeners: Sendable {
  let reloader: Reloader
  let certificates: Certificates
  private let ingest: HTTPServer
  private let admin: HTTPServer
  private let facts: RelayFacts

  init(
    _ daemon: Daemon, _ storage: Storage, _ intake: Intake, _ destinations: Destinations, replays: ReplayDesk,
    standIn: EmbeddedStandIn?, files: OpenFileNeeds.Shares
  ) throws {
    let configuration = daemon.configuration
    var senders = HTTPServerConfiguration(configuration.ingest)
    certificates = Certificates(logger: daemon.logger)
    senders.tls = try certificates.identity(configuration.ingest.tls, of: .ingest)
    senders.maxConnections = files.connections
    ingest = HTTPServer(
      senders,
      handler: IngestHandler(
        log: storage.log, apps: storage.apps, clock: daemon.clock,
        clockTrust: ClockTrust(newestRecord: storage.log.newestRecordAtStart),
        gate: intake.gate, deduplication: intake.deduplication, limit: intake.limit, suppression: storage.suppression,
        metrics: daemon.metrics),
      logger: daemon.logger)
    let drainer = Drainer(intake.gate, destinations, storage.audit, daemon.logger)
    let address = ListenAddress(configuration.admin.listen)
    let gate = AdminGate(AdminAccess(configuration.admin))
    reloader = Reloader(
      daemon, storage, intake, destinations, ingest: ingest, gate: gate, certificates: certificates)
    facts = RelayFacts(
      daemon, storage, intake, destinations, ingest: ingest, certificates: certificates, standIn: standIn)
    var askers = HTTPServerConfiguration(listen: [address], maxConnections: files.admin)
    askers.tls = try certificates.identity(configuration.admin.tls, of: .admin)
    admin = HTTPServer(
      askers,
      handler: AdminHandler(
        gate: gate, metrics: daemon.metrics,
        relay: AdminHandler.Relay(
          facts, reloader, drainer, ReplayRoutes(office: ReplayOffice(desk: replays, apps: storage.apps)),
          PassportRoute { [reloader] id, deadline in
            try PassportSearch(reloader.running, dataDirectory: storage.directory) { storage.log.view }
              .run(id, until: deadline)
          })),
      logger: daemon.logger)
    certificates.attach(ingest, to: .ingest)
    certificates.attach(admin, to: .admin)
    registerMetrics(daemon, destinations)
    SuppressionMetrics.register(in: daemon.metrics, label: { [apps = storage.apps] in apps.metricLabel(ofApp: $0) }) {
      [book = storage.suppression] in book.counts
    }
  }

  private func registerMetrics(_ daemon: Daemon, _ destinations: Destinations) {
    ProcessMetrics.register(in: daemon.metrics)
    certificates.register(in: daemon.metrics)
    RelayMetrics.register(
      in: daemon.metrics, version: RelayVersion.current, clock: daemon.clock,
      connections: { [ingest] in ingest.connections }, statuses: { destinations.statuses },
      removedLetters: { destinations.deadLetters.removedLetters })
    let clampRisk = Remembered(0, for: .seconds(60)) { try destinations.clampRisk(at: daemon.clock.now) }
    daemon.metrics.gauge(
      "event_relay_clamp_risk_events", "Waiting events within 24 h of the 7 days past which the upstream clamps them."
    ) { Double(clampRisk.value) }
    daemon.metrics.counter(
      "event_relay_removed_sink_dropped_events_total", "Events owed to removed sinks whose time was over."
    ) { Double(destinations.removed.droppedEvents) }
    registerDoor(daemon.metrics)
    daemon.metrics.gauge("event_relay_config_last_reload_success", "1 when the last reload took effect, else 0.") {
      [reloader] in reloader.isLastReloadGood ? 1 : 0
    }
  }

  /// What becomes of connections for which there is no room.
  private func registerDoor(_ metrics: MetricsRegistry) {
    metrics.family(
      "event_relay_ingest_refused_connections_total",
      "Connections answered with 503 and closed: as many as there may be, or as one address may have.", type: "counter"
    ) { [ingest] in
      let refused = ingest.refusedConnections
      return [([("reason", "full")], Double(refused.full)), ([("reason", "address")], Double(refused.ofAddress))]
    }
    metrics.counter(
      "event_relay_ingest_displaced_connections_total", "Idle and slow connections that made way for new ones."
    ) { [ingest] in Double(ingest.displacedConnections) }
    metrics.counter(
      "event_relay_ingest_accept_failures_total", "Times that there was no file descriptor for a new connection."
    ) { [ingest] in Double(ingest.acceptFailures) }
  }

  func start() throws {
    try admin.start()
    facts.setAdminAddress(adminAddress)
    try ingest.start()
  }

  var ingestAddresses: [String] { ingest.addresses.map(\.description) }
  var adminAddress: String { admin.addresses.first?.description ?? "" }
  var isLive: Bool { facts.live.isOK }

  func stopIngest(until deadline: ContinuousClock.Instant) async {
    facts.stopAccepting()
    await ingest.stop(until: deadline)
  }

  func stopAdmin() async { await admin.stop(until: ContinuousClock.now + .seconds(1)) }
}

/// What the relay knows of itself, put together when somebody asks.
final class RelayFacts: Sendable {
  private let daemon: Daemon
  private let storage: Storage
  private let intake: Intake
  private let destinations: Destinations
  private let ingest: HTTPServer
  private let certificates: Certificates
  private let standIn: EmbeddedStandIn?
  private let started = ContinuousClock.now
  private let isAccepting = Atomic(true)
  private let adminAddress = Mutex("")

  init(
    _ daemon: Daemon, _ storage: Storage, _ intake: Intake, _ destinations: Destinations, ingest: HTTPServer,
    certificates: Certificates, standIn: EmbeddedStandIn?
  ) {
    self.daemon = daemon
    self.storage = storage
    self.intake = intake
    self.destinations = destinations
    self.ingest = ingest
    self.certificates = certificates
    self.standIn = standIn
  }

  var deadLettersDirectory: String { destinations.deadLetters.directory }

  func stopAccepting() { isAccepting.store(false, ordering: .relaxed) }
  func setAdminAddress(_ address: String) { adminAddress.withLock { $0 = address } }

  var live: HealthReport {
    .live(log: storage.log.statistics, destinations: destinations.statuses, now: .now)
  }

  var ready: HealthReport {
    let waiting = destinations.statuses.filter { $0.pending.events > 0 }.sorted {
      ($0.pending.oldestReceivedAt?.milliseconds ?? .max) < ($1.pending.oldestReceivedAt?.milliseconds ?? .max)
    }
    return .ready(
      log: storage.log.health, isAccepting: isAccepting.load(ordering: .relaxed), isDraining: intake.gate.isClosed,
      waitedFor: waiting.map(\.name))
  }

  var whole: HealthReport { .whole(live: live, ready: ready, destinations: destinations.statuses) }

  var status: JSONValue {
    StatusReport.json(
      StatusReport.Facts(
        version: RelayVersion.current, relay: storage.instanceID, uptime: .now - started, now: daemon.clock.now,
        ingestAddresses: ingest.addresses.map(\.description), isDraining: intake.gate.isClosed,
        adminAddress: adminAddress.withLock { $0 }, ingestTLS: certificates.status(of: .ingest),
        adminTLS: certificates.status(of: .admin),
        standInAddress: standIn?.address, health: storage.log.health, log: storage.log.statistics,
        destinations: destinations.statuses, removedLetters: destinations.deadLetters.removedLetters,
        heldBytes: storage.log.heldBytes, suppressed: storage.suppression.counts,
        givenUp: (destinations.removed.droppedEvents, destinations.removed.givenUp),
        clampingBeginsAt: destinations.clampGuard.beginsAt))
  }

  func flush(_ timeout: Duration) async -> FlushResult { await destinations.flush(until: .now + timeout) }
}

extension AdminHandler.Relay {
  init(
    _ facts: RelayFacts, _ reloader: Reloader, _ drainer: Drainer, _ replays: ReplayRoutes, _ passport: PassportRoute
  ) {
    self.init(
      live: { facts.live }, ready: { facts.ready }, whole: { facts.whole }, status: { facts.status },
      flush: { await facts.flush($0) }, deadLetters: { facts.deadLetters(query: $0) },
      reload: { await reloader.reload(by: "POST /reload") },
      drain: { (wish) async throws(RelayError) in
        switch wish {
        case .drain(let timeout): try await drainer.drain(for: timeout, by: "POST /drain")
        case .stop: try drainer.stop(by: "POST /drain")
        }
      }, replays: replays, passport: passport)
  }
}

extension AdminAccess {
  init(_ admin: RelayConfiguration.Admin) {
    self.init(
      listen: ListenAddress(admin.listen), hosts: admin.hosts, token: admin.token?.revealed,
      authorities: admin.tls?.clientCA?.bytes)
  }
}

extension ListenAddress {
  init(_ address: RelayConfiguration.Address) {
    self =
      switch address {
      case .tcp(let host, let port): .tcp(host: host, port: port)
      case .unix(let path): .unix(path: path)
      }
  }
}

extension HTTPServerConfiguration {
  init(_ ingest: RelayConfiguration.Ingest) {
    self.init(
      listen: ingest.listen.map(ListenAddress.init), maxConnections: ingest.maxConnections,
      headerTimeout: ingest.headerTimeout, bodyTimeout: ingest.bodyTimeout, idleTimeout: ingest.idleTimeout)
    maxConnectionsPerAddress = ingest.maxConnectionsPerAddress
    maxBodyMemory = ingest.maxBodyMemory
  }
}
