import Foundation
import JSON
import TestSupport

/// A relay's files with all there can be in them, struck by one damage, and what the next start makes of them.
struct DamagedRelay: Sendable {
  /// What came of it.
  struct Found: Sendable {
    var starts: Bool
    /// What the relay said, but for information.
    var said: [String]
    var exitCode: Int32?
    /// Events of an app that waited, taken by the upstream now; how many were counted as lost.
    var taken = 0
    var lost = 0
    var corruptRecords = 0
  }

  /// Events that wait when the damage comes: three in a finished segment, two in the last.
  static let waiting = 5
  /// Ids of the events that wait.
  let held: [String]
  let directory = TemporaryDirectory()

  static func settings(_ upstream: ScriptedUpstream, _ hook: ScriptedUpstream) -> RelaySettings {
    var settings = RelaySettings(
      upstream,
      sinks: "{ name: raw, type: ndjson, path: ./events/%Y.ndjson }, "
        + "{ name: audit, type: archive, path: ./archive, rotate: { size: 4KiB } }, "
        + "{ name: hook, type: webhook, url: \"\(hook.url)\", linger: 20ms, retry: { initial: 20ms, max: 50ms } }")
    settings.intake = ", dedupe: { window: 1h }"
    settings.log = "segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB, retain: 1d"
    settings.apps =
      "apps: [{ name: ios, write_key: aso_wk_test, consent: { deny_ids_file: ./deny.txt } }, { name: held, write_key: aso_wk_held }]"
    settings.grace = "100ms"
    return settings
  }

  /// Makes the files.
  init() async throws {
    let upstream = try ScriptedUpstream(keepsRequests: false) { request in
      request.key == "aso_wk_held" ? .error(503, "server_error") : CrashStage.answer(request)
    }
    let hook = try ScriptedUpstream(keepsRequests: false) { _ in .answer(204) }
    _ = directory.write("deny.txt", "left-alone\n")
    let events = (0..<5).map { TestEvent($0) }
    held = events.map(\.id)
    let environment = [
      "EVENT_RELAY_CRASH_ROOTS": "data=\(directory.file("data"))", "EVENT_RELAY_CRASH_EAGER": "1",
    ]
    let relay = try await RelayProcess(directory, Self.settings(upstream, hook), environment: environment)
    for event in events[..<3] { try await relay.accept([event], key: "aso_wk_held") }
    try await relay.accept(CrashScene.events(6))
    try await relay.accept([TestEvent(0, install: "left-alone")])
    try await relay.accept(CrashScene.events(3, bad: false), key: "aso_wk_other")
    for _ in 0..<2 { try await relay.accept(CrashScene.bulk(12)) }
    for event in events[3...] { try await relay.accept([event], key: "aso_wk_held") }
    while try await relay.flush() > Self.waiting {}
    for words in [["replay", "--to", "raw", "--from-log", "--app", "held"], ["dead-letters", "replay"]] {
      let result = try await eventRelay(words + ["--config", directory.file("relay.yaml")])
      guard result.exitCode == 0 else { throw TestFailure("\(words): \(result.output)\(result.errors)") }
    }
    while try await relay.flush() > Self.waiting {}
    guard try await relay.stop() == 0 else { throw TestFailure(relay.process.errorText) }
    _ = directory.write("data/log/torn-000000000001-512.bin", "a torn write")
    _ = directory.write("data/log/damaged-0.bin", "a damaged segment")
  }

  /// A copy of another's files, to be struck.
  init(copyOf other: DamagedRelay) throws {
    held = other.held
    for name in ["data", "events", "archive", "deny.txt"] {
      try FileManager.default.copyItem(atPath: other.directory.file(name), toPath: directory.file(name))
    }
  }

  /// The first file, by name, whose path fits: `data/log/segment-*.log`, or the last with a minus sign before.
  func file(_ pattern: String) throws -> String {
    let isLast = pattern.hasPrefix("-")
    let parts = pattern.drop { $0 == "-" }.split(separator: "/").map(String.init)
    let folder = parts.dropLast().joined(separator: "/")
    let name = parts[parts.count - 1].split(separator: "*", omittingEmptySubsequences: false)
    let all = (try? FileManager.default.contentsOfDirectory(atPath: directory.file(folder))) ?? []
    let fitting = all.sorted().filter { one in
      name.count == 1 ? one == name[0] : one.hasPrefix(name[0]) && one.hasSuffix(name[1]) && one.count > name[0].count
    }
    guard let found = isLast ? fitting.last : fitting.first else { throw TestFailure("there is no \(pattern): \(all)") }
    return directory.file("\(folder)/\(found)")
  }

  /// Starts a relay, which takes events and sends all that waits, or says why it doesn't start.
  func start() async throws -> Found {
    let upstream = try ScriptedUpstream(keepsRequests: false, CrashStage.answer)
    let hook = try ScriptedUpstream(keepsRequests: false) { _ in .answer(204) }
    let configuration = Self.settings(upstream, hook).write(in: directory)
    let child = try ChildProcess(["run", "--adopt", "--config", configuration])
    guard await child.waitForLine(" ready") != nil else {
      return Found(starts: false, said: Self.told(child), exitCode: await child.wait())
    }
    let addresses = try JSONValue(parsing: child.errorLines.value.addresses)
    var found = Found(starts: true, said: [])
    let ingest = try TestAddress(addresses["ingest"]?.string ?? "")
    let admin = try TestAddress(addresses["admin"]?.string ?? "")
    let fresh = CrashScene.events(3, bad: false)
    let answer = try await RelayProcess.post(TestEvent.batch(fresh), to: ingest)
    guard answer.status == 200 else { throw TestFailure("\(answer.status): \(answer.text)\n\(child.errorText)") }
    guard await upstream.hasTaken(fresh.map(\.id), within: .seconds(60)) else { throw TestFailure(child.errorText) }
    func ask(_ method: String, _ path: String) async throws -> JSONValue {
      try await onThread { try TestConnection(to: admin).send(method, path) }.json ?? .null
    }
    for _ in 0..<3 where try await ask("POST", "/flush?timeout=3s")["pending"]?.integer() == 0 { break }
    let status = try await ask("GET", "/status")
    let books = status["destinations"]?.array?.first { $0["name"]?.string == "upstream" }?["ledger"]
    found.lost = books?["lost"]?.integer() ?? -1
    found.corruptRecords = status["log"]?["corrupt_records"]?.integer() ?? -1
    let taken = upstream.record.value.events
    found.taken = held.count { taken[$0] != nil }
    child.kill(SIGTERM)
    found.exitCode = await child.wait()
    found.said = Self.told(child)
    return found
  }

  private static func told(_ child: ChildProcess) -> [String] {
    child.errorLines.value.filter {
      $0.contains(" WARNING ") || $0.contains(" ERROR ") || $0.contains("event-relay run:")
    }
  }
}

extension [String] {
  /// The addresses that a relay's log tells, as an object.
  fileprivate var addresses: [UInt8] {
    func address(_ words: String) -> String {
      first { $0.contains(words) }?.split(separator: "address=").last.map { String($0.prefix { $0 != " " }) } ?? ""
    }
    return [UInt8](#"{"ingest":"\#(address("ingest listens"))","admin":"\#(address("admin listens"))"}"#.utf8)
  }
}
