import Foundation
import JSON
import TestSupport
import Testing

/// Something that a relay does, in which it may die anywhere; then another one is to make it all good.
struct CrashScene: Sendable {
  typealias Act = @Sendable (CrashStage) async throws -> Void

  var name: String
  /// What there is before; nobody dies in it.
  var prepare: Act = { _ in }
  /// One or more relays, of which one may die.
  var play: Act
  /// How the last relay is set up, which pays all debts.
  var last: @Sendable (CrashStage) -> RelaySettings
  /// What is done with the last relay before its books are looked at.
  var finish: @Sendable (CrashStage, RelayProcess) async throws -> Void = { _, _ in }
  /// Whether the log does soon what it does late otherwise.
  var isEager = false
  /// Whether the line file and the archive hold every event from the first on.
  var hasRaw = true
  var hasArchive = true
  var hasHook = false
  /// Whether the dead letters are all of the bad events still.
  var keepsLetters = true

  /// Plays, and returns the places reached in order; dies in between where it is to.
  func run(to end: String?) async throws -> CrashOutcome {
    let stage = try CrashStage(end, isEager: isEager)
    try await prepare(stage)
    stage.plan()
    var isDead = false
    do {
      try await play(stage)
    } catch {
      isDead = stage.isDead
      guard isDead else { throw error }
    }
    isDead = isDead || stage.isDead
    guard end == nil || isDead else { return CrashOutcome(reached: stage.reached, hasDied: false) }
    stage.unplan()
    try await settle(stage)
    return CrashOutcome(reached: stage.reached, hasDied: isDead)
  }

  /// The next relay: it pays all debts, and every book and file is right.
  private func settle(_ stage: CrashStage) async throws {
    let relay = try await stage.start(last(stage))
    try await finish(stage, relay)
    // It works, too.
    try await stage.send(relay, Self.events(3))
    try await stage.flush(relay)
    try await check(try await relay.status())
    try await stage.stop(relay)
    try checkDebts(stage)
    if hasRaw { try checkLines(sinkLines(stage.directory), stage, "the line file") }
    if hasArchive {
      let verified = try await eventRelay("archive", "verify", stage.directory.file("archive"))
      guard verified.exitCode == 0 else { throw TestFailure("archive verify: \(verified.output)\(verified.errors)") }
      let lines = try await eventRelay("archive", "cat", stage.directory.file("archive")).output
      try checkLines(lines.split(separator: "\n").map(String.init), stage, "the archive")
    }
    let verified = try await eventRelay("log", "verify", stage.directory.file("data"))
    guard verified.exitCode == 0 else { throw TestFailure("log verify: \(verified.output)\(verified.errors)") }
    let report = try await doctor(stage.directory)
    guard report.isWell else { throw TestFailure("doctor: \(report.faults)\(report.errors)") }
  }

  /// Nothing waits, nothing is lost, and every event is in one column.
  private func check(_ status: JSONValue) async throws {
    for destination in status["destinations"]?.array ?? [] where destination["type"]?.string != "removed" {
      let ledger = destination["ledger"]
      func count(_ column: String) -> Int { ledger?[column]?.integer() ?? 0 }
      let columns = ["delivered", "waiting", "dead_lettered", "filtered", "dropped", "lost"].map(count)
      guard count("waiting") == 0, count("lost") == 0,
        count("accepted") + count("replayed") == columns.reduce(0, +)
      else { throw TestFailure("the ledger of \(destination["name"]?.string ?? "?") is wrong: \(ledger ?? .null)") }
    }
  }

  /// Every event answered with 200 is upstream or a dead letter, as it was sent, and nothing else is.
  private func checkDebts(_ stage: CrashStage) throws {
    let (known, taken) = (stage.known, stage.upstream.record.value.events)
    let letters = Set(eventIDs(sinkLines(stage.directory, "data/dead-letters")))
    for id in known.accepted where taken[id] == nil && !letters.contains(id) {
      if !keepsLetters, RawJSON.string("name", of: known.sent[id] ?? []) == CrashStage.bad { continue }
      throw TestFailure("the event \(id) was accepted and is nowhere")
    }
    for (id, copies) in taken {
      guard let sent = known.sent[id], copies.allSatisfy({ $0 == sent }) else {
        throw TestFailure("the upstream has an event \(id) that nobody sent so")
      }
    }
    guard !hasHook || stage.hooked.value.isSuperset(of: known.accepted) else {
      throw TestFailure("the webhook misses accepted events")
    }
    guard keepsLetters else { return }
    let bad = known.sent.filter { RawJSON.string("name", of: $0.value) == CrashStage.bad }.keys
    let all = eventIDs(sinkLines(stage.directory, "data/dead-letters"))
    guard all.count == letters.count, letters.isSubset(of: bad) else {
      throw TestFailure("dead letters are there twice, or are none: \(all)")
    }
  }

  /// Each number once and none left out, and every accepted event as it was sent.
  private func checkLines(_ lines: [String], _ stage: CrashStage, _ place: String) throws {
    let known = stage.known
    let numbers = lines.map {
      Int(String(decoding: RawJSON.member("seq", of: Array($0.utf8)) ?? [], as: UTF8.self)) ?? 0
    }
    guard numbers.sorted() == Array(1...max(1, lines.count)) || lines.isEmpty else {
      throw TestFailure("\(place) has a number twice or not at all: \(numbers.sorted())")
    }
    var ids: Set<String> = []
    for line in lines {
      let event = RawJSON.member("event", of: Array(line.utf8)) ?? []
      let id = RawJSON.string("event_id", of: event) ?? ""
      guard known.sent[id] == event else { throw TestFailure("\(place) has an event \(id) that nobody sent so") }
      ids.insert(id)
    }
    guard known.accepted.isSubset(of: ids) else {
      throw TestFailure("\(place) misses \(known.accepted.subtracting(ids).count) accepted events")
    }
  }
}

/// What a round came to.
struct CrashOutcome: Sendable {
  var reached: [String]
  var hasDied: Bool
}
