import Foundation
import JSON
import Synchronization
import TestSupport

/// One round: a relay's directory and upstream, what was sent, and the place where the relay is to die.
final class CrashStage: Sendable {
  /// What the senders know.
  struct Debts: Sendable {
    /// The bytes of every event sent, by id.
    var sent: [String: [UInt8]] = [:]
    /// Ids of those that were answered with 200.
    var accepted: Set<String> = []
  }

  let directory = TemporaryDirectory()
  let upstream: ScriptedUpstream
  /// Takes what a webhook sends.
  let hook: ScriptedUpstream
  /// Ids of the events that it took.
  let hooked = Fact<Set<String>>([])
  /// The names of events that the upstream rejects.
  static let bad = "bad"
  private let debts = Mutex(Debts())
  /// The place to die at; nil: nowhere, what is reached is only noted.
  private let end: String?
  private let isPlanned = Mutex(false)
  private let isEager: Bool

  init(_ end: String?, isEager: Bool) throws {
    self.end = end
    self.isEager = isEager
    upstream = try ScriptedUpstream(keepsRequests: false, Self.answer)
    let hooked = hooked
    hook = try ScriptedUpstream(keepsRequests: false) { request in
      hooked.change { $0.formUnion(request.eventIDs) }
      return .answer(204)
    }
  }

  /// Takes every event but bad ones.
  static let answer: ScriptedUpstream.Script = { request in
    let rejected = request.events.indices.filter { RawJSON.string("name", of: request.events[$0]) == CrashStage.bad }
    return .accept(rejected: Dictionary(uniqueKeysWithValues: rejected.map { ($0, "invalid_name") }))
  }

  var known: Debts { debts.withLock { $0 } }

  /// From now on relays that start note what they reach, and one dies where it is to.
  func plan() { isPlanned.withLock { $0 = true } }

  func unplan() { isPlanned.withLock { $0 = false } }

  private var record: String { directory.file("reached") }

  /// The places that were reached, in order.
  var reached: [String] { readLines(record) }

  /// Whether the relay died where it was to. (It notes nothing after.)
  var isDead: Bool {
    guard let end else { return false }
    let parts = end.split(separator: "#").map(String.init)
    return reached.last == parts[0] && reached.count { $0 == parts[0] } >= (parts.count > 1 ? Int(parts[1])! : 1)
  }

  var environment: [String: String] {
    guard isPlanned.withLock({ $0 }) else { return [:] }
    var all = [
      "EVENT_RELAY_CRASH_ROOTS":
        "data=\(directory.file("data")):lines=\(directory.file("events")):archive=\(directory.file("archive"))",
      "EVENT_RELAY_CRASH_RECORD": record,
    ]
    all["EVENT_RELAY_CRASH_AT"] = end
    if isEager { all["EVENT_RELAY_CRASH_EAGER"] = "1" }
    return all
  }

  func start(_ settings: RelaySettings) async throws -> RelayProcess {
    try await RelayProcess(directory, settings, environment: environment)
  }

  /// Posts events in one batch; those answered with 200 are debts.
  func send(_ relay: RelayProcess, _ events: [TestEvent], key: String = "aso_wk_test") async throws {
    debts.withLock { for event in events { $0.sent[event.id] = event.bytes } }
    try await relay.accept(events, key: key)
    debts.withLock { $0.accepted.formUnion(events.map(\.id)) }
  }

  /// Makes nothing wait.
  func flush(_ relay: RelayProcess) async throws {
    for _ in 0..<3 where try await relay.flush(timeout: "10s") == 0 { return }
    throw TestFailure("events wait still: \(try await relay.status())\n\(relay.process.errorText)")
  }

  /// Asks until it is so; ends with an error when the relay is gone.
  func wait(_ relay: RelayProcess, until holds: () async throws -> Bool) async throws {
    try await lookAgain {
      if try await holds() { return false }
      guard try await relay.admin("GET", "/livez").status == 200 else { throw TestFailure("the relay isn't live") }
      return true
    }
  }

  func stop(_ relay: RelayProcess) async throws {
    let code = try await relay.stop()
    guard code == 0 else { throw TestFailure("the relay ends with \(code):\n\(relay.process.errorText)") }
  }

  /// Runs a command about this relay, which must end well.
  @discardableResult
  func run(_ words: String...) async throws -> CommandResult {
    let result = try await eventRelay(words + ["--config", directory.file("relay.yaml")], environment: environment)
    guard result.exitCode == 0 else { throw TestFailure("\(words): \(result.output)\(result.errors)") }
    return result
  }

  /// The names in a directory of the relay; none when it isn't there.
  func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory.file(path))) ?? []).sorted()
  }
}
