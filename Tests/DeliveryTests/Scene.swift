import Clocks
import DeadLetters
import EventLog
import JSON
import Observability
import Records
import Synchronization
import TestSupport

@testable import Delivery

/// Everything around one upstream destination, made anew for each test.
final class Scene: Sendable {
  final class Keys: UpstreamKeys {
    private let keys = Mutex<[String: String]>([:])
    /// The key of apps that aren't named.
    private let others = Mutex<String?>("aso_wk_any")

    func set(_ app: String, _ key: String?) { keys.withLock { $0[app] = key ?? "" } }
    func upstreamKey(ofApp name: String) -> String? {
      let key = keys.withLock { $0[name] } ?? others.withLock { $0 }
      return key == "" ? nil : key
    }
  }

  let simulation = Simulation()
  let directory = TemporaryDirectory()
  let log = FakeLog()
  let keys = Keys()
  let upstream: FakeUpstream
  let lines = Fact<[String]>([])
  let metrics = MetricsRegistry()

  init() { upstream = FakeUpstream(simulation) }

  /// One life of the destination, from a start to a stop or a crash.
  struct Life {
    let destination: UpstreamDestination
    let subscription: FakeSubscription
  }

  var logger: Logger {
    Logger(level: .debug, clock: simulation.wallClock) { [lines] line in
      lines.change { $0.append(String(decoding: line, as: UTF8.self)) }
    }
  }

  var deadLetterDirectory: String { directory.file("dead-letters") }

  func start(
    _ configuration: UpstreamConfiguration = Scene.configuration(), byApp: [String: UpstreamConfiguration] = [:],
    system: FileSystem = .system, roll: Double = 0
  ) async -> Life {
    let subscription = FakeSubscription(log)
    return Life(
      destination: await start(over: subscription, configuration, byApp: byApp, system: system, roll: roll),
      subscription: subscription)
  }

  /// Starts a destination on whatever log the subscription is of.
  func start(
    over subscription: any Subscription, _ configuration: UpstreamConfiguration = Scene.configuration(),
    byApp: [String: UpstreamConfiguration] = [:], system: FileSystem = .system, roll: Double = 0
  ) async -> UpstreamDestination {
    let destination = UpstreamDestination(
      upstreams: Upstreams(usual: configuration, byApp: byApp), subscription: subscription, client: upstream,
      scheduler: simulation, keys: keys,
      deadLetters: DeadLetterStore(
        directory: deadLetterDirectory, clock: simulation.wallClock, logger: logger, system: system),
      relay: "test-relay", metrics: metrics, logger: logger, clock: simulation.wallClock, roll: { roll })
    destination.start()
    await simulation.settleNext()
    return destination
  }

  /// Opens a log in files, in the scene's directory.
  ///
  /// - Parameter segmentSize: in bytes.
  func openLog(segmentSize: Int = 64 << 10) throws -> FileLog {
    try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"), replays: directory.file("replays"),
      configuration: FileLogConfiguration(durability: .os, segmentSize: segmentSize, minFreeDisk: 0),
      clock: simulation.wallClock, logger: logger, metrics: MetricsRegistry())
  }

  /// Reloads, and returns when the destination has taken it.
  func reconfigure(_ life: Life, _ configuration: UpstreamConfiguration) async {
    await simulation.drive { await life.destination.reconfigure(configuration) }
  }

  /// Says that keys may be others, and returns when the destination has heard it.
  func keysChanged(_ life: Life) async {
    await simulation.drive { await life.destination.keysChanged() }
  }

  static func configuration(
    url: String = "http://upstream.test", linger: Duration = .zero, maxBatchBytes: Int = 1 << 20, adopt: Bool = false
  ) -> UpstreamConfiguration {
    UpstreamConfiguration(
      url: url, linger: linger, maxBatchBytes: maxBatchBytes, retry: .init(jitter: 0), adoptsWaitingEvents: adopt)
  }

  /// With limits of a key's and of an install's events in any 60 s; 0: none.
  static func paced(_ events: Int, _ install: Int = 0, margin: Double = 0) -> UpstreamConfiguration {
    var configuration = configuration()
    configuration.rateLimit = RateLimit(events: events, eventsPerInstall: install, margin: margin)
    return configuration
  }

  /// Stores events that carry these numbers, received now unless told, and dated then unless told.
  func store(
    _ numbers: some Sequence<Int>, app: String = "ios", install: UInt64 = 0, receivedAt: Timestamp? = nil,
    occurredAt: Timestamp? = nil, dialect: UInt8 = 0, request: UInt64? = nil
  ) {
    for number in numbers {
      log.append(
        #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number)}"#, app: app,
        receivedAt: receivedAt ?? simulation.wallClock.now, install: install, occurredAt: occurredAt, dialect: dialect,
        request: request)
    }
  }

  static func twelve(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// What is in the dead letters, in their order.
  var deadLetters: [DeadLetterSummary] {
    var letters: [DeadLetterSummary] = []
    try? DeadLetterReader(directory: deadLetterDirectory).forEach { letter, _ in
      letters.append(letter)
      return true
    }
    return letters
  }

  /// The member `event_id` of what is in the dead letters tells its number, whatever protocol it came by.
  var deadLetterNumbers: [Int] {
    var numbers: [Int] = []
    try? DeadLetterReader(directory: deadLetterDirectory).forEach { _, line in
      let id = (try? JSONValue(parsing: Array(line)))?["event"]?["event_id"]?.string
      if let number = id.flatMap({ Int($0.suffix(12)) }) { numbers.append(number) }
      return true
    }
    return numbers
  }
}

extension UpstreamEngine {
  /// Ends as a crash does: nothing more is sent, acknowledged or committed. Lets go of files as a dead process would.
  func die() {
    isStopped = true
    timerTask?.cancel()
    context.deadLetters.close(UpstreamContext.destination)
    waker.wake()
  }
}

extension UpstreamDestination {
  func reconfigure(_ usual: UpstreamConfiguration) async { await reconfigure(Upstreams(usual: usual)) }
}

extension UpstreamOpening {
  /// Of a relay whose apps all have the usual upstream.
  init(attachment: JSONValue?, pendingEvents: Int, relay: String, configuration: UpstreamConfiguration) {
    self.init(
      attachment: attachment, waiting: pendingEvents > 0 ? ["ios": pendingEvents] : [:], relay: relay,
      upstreams: Upstreams(usual: configuration))
  }
}

extension Scene.Life {
  var status: DestinationStatus { destination.status }
  var ledger: Ledger { subscription.ledger }
}
