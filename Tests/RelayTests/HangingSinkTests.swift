import Configuration
import EventLog
import Observability
import Replay
import Sinks
import TestSupport
import Testing

@testable import Relay

/// A sink that a call to a disk keeps from ending.
private final class HangingSink: Destination {
  let name: String
  let type = "hanging"
  let hangs = Fact(true)

  init(_ name: String) { self.name = name }

  var hasEnded: Bool { !hangs.value }
  var status: DestinationStatus {
    DestinationStatus(
      name: name, type: type, state: .failing, pending: Pending(events: 0, oldestReceivedAt: nil),
      ledger: Ledger(accepted: 0, settled: Tally(), waiting: 0))
  }

  func start() {}
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult { FlushResult(flushed: 0, pending: 0) }
  func stop(until deadline: ContinuousClock.Instant) async {}
}

/// A relay without its doors, whose sink `raw` hangs.
private final class HangingScene: Sendable {
  let directory = TemporaryDirectory()
  let raw = HangingSink("raw")
  let storage: Storage
  let destinations: Destinations
  private let reloader: Reloader

  init() throws {
    let file = Self.write("{ name: raw, type: ndjson, path: ./events/%Y.ndjson }", directory)
    let source = ConfigurationSource(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all)
    let daemon = Daemon(configuration: try source.read().get(), options: .init(), environment: [:], source: source)
    storage = try Storage(daemon.configuration, .system, metrics: daemon.metrics, logger: .silent)
    let intake = try Intake(daemon, storage)
    let files = OpenFileNeeds.Shares(connections: 8, transfers: 8, admin: 8, segments: 2, lineFiles: 4)
    destinations = try Destinations(daemon, storage, intake, standInURL: nil, files: files)
    let desk = ReplayDesk(ReplayDesk.Room(storage, destinations, daemon.clock, .silent))
    reloader = try Listeners(
      daemon, storage, intake, destinations, replays: desk, standIn: nil, files: files
    ).reloader
    destinations.change { [raw] all in
      all.removeAll { $0.name == raw.name }
      all.append(raw)
    }
    destinations.start()
  }

  private static func write(_ sinks: String, _ directory: TemporaryDirectory) -> String {
    directory.write(
      "relay.yaml",
      """
      data_dir: ./data
      log: { segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB }
      upstream: { url: "http://127.0.0.1:1" }
      logging: { level: error }
      sinks: [\(sinks)]
      """)
  }

  func reload(sinks: String) async -> ReloadOutcome {
    _ = Self.write(sinks, directory)
    return await reloader.reload(by: "test")
  }

  /// Names of sinks that are configured no longer, and whose places are kept.
  var removed: [String] { destinations.all.filter { $0 is RemovedSink }.map(\.name) }

  func stop() async {
    await destinations.stop(until: .now)
    storage.close()
  }
}

@Suite("A sink that hangs through a reload")
struct HangingSinkTests {
  private static let moved = "{ name: raw, type: ndjson, path: ./other/%Y.ndjson }"

  private func expectHanging(_ outcome: ReloadOutcome) {
    #expect(outcome.status == 500 && outcome.applied.isEmpty, "\(outcome)")
    #expect(outcome.failures.map(\.key) == ["sinks.raw"])
    #expect(outcome.failures.first?.message.contains("has not ended yet") == true)
  }

  @Test("when it is taken out of the file is still there, and goes with the next one after it answers")
  func removed() async throws {
    let scene = try HangingScene()
    expectHanging(await scene.reload(sinks: ""))
    #expect(scene.destinations.sinks == ["raw"] && scene.removed.isEmpty)
    expectHanging(await scene.reload(sinks: ""))
    scene.raw.hangs.change { $0 = false }
    #expect(await scene.reload(sinks: "") == ReloadOutcome(applied: ["sinks.raw"]))
    #expect(scene.destinations.sinks.isEmpty && scene.removed == ["raw"])
    #expect(await scene.reload(sinks: "") == ReloadOutcome())
    await scene.stop()
  }

  @Test("when it changes, and is taken out of the file then, goes too")
  func changed() async throws {
    let scene = try HangingScene()
    expectHanging(await scene.reload(sinks: Self.moved))
    scene.raw.hangs.change { $0 = false }
    #expect(await scene.reload(sinks: "") == ReloadOutcome(applied: ["sinks.raw"]))
    #expect(scene.destinations.sinks.isEmpty && scene.removed == ["raw"])
    await scene.stop()
  }

  @Test("when it is taken out of the file, and is put back, is made anew once it answers")
  func putBack() async throws {
    let scene = try HangingScene()
    expectHanging(await scene.reload(sinks: ""))
    expectHanging(await scene.reload(sinks: Self.moved))
    scene.raw.hangs.change { $0 = false }
    #expect(await scene.reload(sinks: Self.moved) == ReloadOutcome(applied: ["sinks.raw"]))
    #expect(scene.destinations.sinks == ["raw"] && scene.removed.isEmpty)
    #expect(scene.destinations.all.allSatisfy { $0 !== scene.raw })
    await scene.stop()
  }

  @Test("that is only stopped keeps its place to itself until it is made anew")
  func place() async throws {
    let scene = try HangingScene()
    scene.raw.hangs.change { $0 = false }
    let stopped = await scene.destinations.stop(sinks: ["raw"], removing: [], keep: .seconds(60))
    #expect(stopped.isEmpty && scene.destinations.sinks == ["raw"])
    #expect(throws: LogError.self) { try scene.storage.log.subscribe("raw", origin: .newest) }
    await scene.stop()
  }
}
