import Foundation
import JSON
import TestSupport

/// A configuration for a test: short delays, small segments, free ports, everything below one directory.
struct RelaySettings: Sendable {
  /// Kept by the relay's process, so that it answers as long as that runs.
  var upstream: ScriptedUpstream?
  var url = "http://127.0.0.1:1"
  var listen = "127.0.0.1:0"
  var keys = "any"
  /// Further keys of `ingest`, each with a comma before it.
  var intake = ""
  var apps = ""
  var log = "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB"
  var linger = "20ms"
  var timeout = "20s"
  var retry = "initial: 50ms, max: 200ms, jitter: 0%"
  /// Off unless a test is about it.
  var rateLimit = "events_per_minute: 0, per_install_per_minute: 0"
  /// `hold`, or `dead_letter` where all that the upstream refuses is to be given up.
  var onRefusedKey = "hold"
  var hasSink = true
  /// Short, since most tests end with an upstream that takes nothing.
  var grace = "500ms"
  var adminToken = "~"
  /// Host names by which the admin listener may be called, besides those it always takes.
  var adminHosts = ""
  /// Further keys of `admin`, each with a comma before it.
  var adminKeys = ""
  var further = ""

  var yaml: String {
    """
    data_dir: ./data
    ingest: { listen: ["\(listen)"], keys: \(keys)\(intake) }
    admin: { listen: "127.0.0.1:0", token: \(adminToken), hosts: [\(adminHosts)]\(adminKeys) }
    \(apps)
    log: { \(log) }
    upstream:
      url: "\(upstream?.url ?? url)"
      linger: \(linger)
      timeout: \(timeout)
      retry: { \(retry) }
      rate_limit: { \(rateLimit) }
      on_refused_key: \(onRefusedKey)
    \(hasSink ? "sinks: [{ name: raw, type: ndjson, path: ./events/%Y/%m/%d.ndjson }]" : "")
    shutdown: { grace: \(grace) }
    \(further)
    """
  }

  /// Writes the configuration into a directory and returns its path.
  func write(in directory: TemporaryDirectory) -> String { directory.write("relay.yaml", yaml) }
}

/// A relay that runs as a process of its own.
final class RelayProcess: Sendable {
  let process: ChildProcess
  let ingest: [TestAddress]
  let admin: TestAddress
  let standIn: TestAddress?
  private let settings: RelaySettings

  /// Starts a relay and waits until it is ready.
  ///
  /// - Parameters:
  ///   - prefix: a command that runs the one behind it.
  ///   - program: the program, where it isn't to be run from where it was built.
  init(
    _ directory: TemporaryDirectory, _ settings: RelaySettings, _ options: String...,
    on disk: SmallDisk? = nil, openFiles: Int? = nil, under prefix: [String] = [],
    program: String = ChildProcess.eventRelay, environment: [String: String] = [:]
  ) async throws {
    self.settings = settings
    let arguments = ["run", "--config", settings.write(in: directory)] + options
    let limit = openFiles.map { ["/bin/sh", "-c", "ulimit -n \($0); exec \"$@\"", "sh"] } ?? []
    let command = (disk?.command ?? []) + prefix + limit + [program] + arguments
    process = try ChildProcess(Array(command.dropFirst()), program: command[0], environment: environment)
    guard await process.waitForLine(" ready") != nil else {
      throw TestFailure("the relay doesn't get ready:\n\(process.errorText)")
    }
    let data = options.contains("--stand-in") ? "data-stand-in" : "data"
    guard let text = readFile((disk?.root(of: process) ?? "") + directory.file("\(data)/addresses.json")),
      let addresses = try? JSONValue(parsing: text),
      let admin = addresses["admin"]?.string
    else { throw TestFailure("data_dir/addresses.json is missing or no object") }
    ingest = try (addresses["ingest"]?.array ?? []).compactMap(\.string).map { try TestAddress($0) }
    self.admin = try TestAddress(admin)
    standIn = try addresses["stand_in"]?.string.map { try TestAddress($0) }
  }

  /// Posts a body to the first ingest listener, over a connection of its own.
  func post(
    _ body: [UInt8], to path: String = "/v1/events", key: String? = "aso_wk_test", headers: [(String, String)] = []
  ) async throws -> TestAnswer {
    try await Self.post(body, to: ingest[0], path: path, key: key, headers: headers)
  }

  static func post(
    _ body: [UInt8], to address: TestAddress, path: String = "/v1/events", key: String? = "aso_wk_test",
    headers: [(String, String)] = []
  ) async throws -> TestAnswer {
    let all = [("Content-Type", "application/json")] + (key.map { [("X-Write-Key", $0)] } ?? []) + headers
    return try await onThread { try TestConnection(to: address).send("POST", path, headers: all, body: body) }
  }

  /// Posts events and makes sure that every one was accepted.
  func accept(_ events: [TestEvent], key: String = "aso_wk_test") async throws {
    for start in stride(from: 0, to: events.count, by: 100) {
      let batch = events[start..<min(start + 100, events.count)]
      let answer = try await post(TestEvent.batch(batch), key: key)
      guard answer.status == 200, answer.json?["accepted"]?.integer() == batch.count else {
        throw TestFailure("\(answer.status): \(answer.text)")
      }
    }
  }

  func admin(_ method: String, _ path: String, host: String? = nil, headers: [(String, String)] = []) async throws
    -> TestAnswer
  {
    let admin = self.admin
    return try await onThread { try TestConnection(to: admin).send(method, path, headers: headers, host: host) }
  }

  /// Skips lingering and waits until nothing waits any more; says how much still does.
  func flush(timeout: String = "30s") async throws -> Int {
    let answer = try await admin("POST", "/flush?timeout=\(timeout)")
    guard answer.status == 200, let pending: Int = answer.json?["pending"]?.integer() else {
      throw TestFailure("flush: \(answer.status): \(answer.text)")
    }
    return pending
  }

  func status() async throws -> JSONValue {
    let answer = try await admin("GET", "/status")
    guard answer.status == 200, let json = answer.json else {
      throw TestFailure("status: \(answer.status): \(answer.text)")
    }
    return json
  }

  /// A destination's part of the status.
  func destination(_ name: String) async throws -> JSONValue {
    guard let found = try await status()["destinations"]?.array?.first(where: { $0["name"]?.string == name }) else {
      throw TestFailure("the status has no destination \(name)")
    }
    return found
  }

  /// Writes settings and has them reloaded; the answer, which must have this status.
  @discardableResult
  func reload(
    _ settings: RelaySettings, in directory: TemporaryDirectory, status: Int = 200
  ) async throws -> JSONValue {
    _ = settings.write(in: directory)
    let answer = try await admin("POST", "/reload")
    guard answer.status == status, let json = answer.json else {
      throw TestFailure("reload: \(answer.status): \(answer.text)")
    }
    return json
  }

  /// Ends the relay as an operator does and returns its exit code.
  func stop() async throws -> Int32 {
    process.kill(SIGTERM)
    guard let code = await process.wait() else { throw TestFailure("the relay doesn't end:\n\(process.errorText)") }
    return code
  }

  /// Ends the relay as a power cut does, but for the page cache.
  func crash() async throws {
    process.kill(SIGKILL)
    guard await process.wait() != nil else { throw TestFailure("the relay outlives SIGKILL") }
  }
}

/// The lines of all of a sink's files, in the files' order.
func sinkLines(_ directory: TemporaryDirectory, _ folder: String = "events") -> [String] {
  let root = directory.file(folder)
  let files = (FileManager.default.enumerator(atPath: root)?.allObjects ?? []).compactMap { $0 as? String }
  return files.filter { $0.hasSuffix(".ndjson") }.sorted().flatMap { readLines("\(root)/\($0)") }
}
