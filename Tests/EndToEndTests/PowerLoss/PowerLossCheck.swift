import Foundation
import JSON
import PowerLoss
import TestSupport

/// Starts the relay on what a cut left, lets it finish, and compares with what the world outside knows.
struct PowerLossCheck {
  let place: PowerLossPlace
  let load: PowerLossLoad
  let facts: PowerLossFacts
  /// The journal's length at the cut.
  let length: Int
  /// What upstream and webhook took in after the journal's end, from relays that were cut off as well.
  var takenSince: Set<String> = []
  var hookedSince: [String: Int] = [:]
  /// Everything is sent once more, as senders do that missed the answers.
  var sendsAgain = false

  /// What relays said that were cut off while they worked on what the first cut left.
  var saidBefore = ""
  /// Numbers of events that the log names as lost: see ``PowerLossCheck/readLost(_:)``.
  private(set) var lost: Set<Int> = []

  /// What was compared.
  var debts = 0
  private(set) var queued = 0, sentAgain = 0
  private(set) var tornTails = 0
  private(set) var faults: [String] = []

  /// How often replays may have put an event into the line files: each of them once.
  var replaysOfLog = 0
  /// Only ever ends a check that has failed; where failure is wanted, soon.
  private let patience: Duration

  init(_ round: PowerLossRound, length: Int) {
    place = round.place
    load = round.load
    facts = round.facts
    self.length = length
    patience = round.isHonest ? .seconds(300) : .seconds(20)
    replaysOfLog = round.facts.replaysOfLog
  }

  var finder: EventFinder { EventFinder(sent: load.bytes) }
  var owed: Set<String> { PowerLossFacts.ids(facts.answered, by: length) }

  mutating func run() async {
    place.receivers.begin(journal: nil, isHealthy: true)
    do {
      let relay = try await RelayProcess(place.disk, place.settings(), environment: place.afterCut)
      var status = try await settle(relay)
      readLost(saidBefore + relay.process.errorText)
      let before = records("events")
      check(before, isFinal: false)
      checkRepeats(before, status)
      checkSuppressed(status)
      if sendsAgain {
        try await sendAgain(relay)
        try await replayAgain(relay, status)
        status = try await settle(relay)
      }
      guard try await relay.stop() == 0 else { throw TestFailure("the relay doesn't stop well") }
      checkLog(relay.process.errorText)
      try await checkFiles(status, before)
      try await checkTools()
    } catch {
      faults.append("\(error)")
    }
  }

  mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { faults.append(what()) }
  }

  /// Names a few.
  mutating func expectNone(_ ids: some Collection<String>, _ what: String) {
    if let one = ids.min() { faults.append("\(what): \(ids.count) events, \(one) among them") }
  }

  /// Waits until nothing waits anywhere.
  private func settle(_ relay: RelayProcess) async throws -> JSONValue {
    let end = ContinuousClock.now + patience
    while true {
      _ = try await relay.flush(timeout: "5s")
      let status = try await relay.status()
      let waiting = (status["destinations"]?.array ?? []).reduce(0) { $0 + ($1["ledger"]?["waiting"]?.integer() ?? 1) }
      if waiting == 0 { return status }
      guard ContinuousClock.now < end else { throw TestFailure("\(waiting) events still wait: \(status)") }
      await Task.yield()
    }
  }

  private mutating func checkFiles(_ status: JSONValue, _ before: [Record]) async throws {
    let raw = sendsAgain ? records("events") : before
    if sendsAgain {
      check(raw, isFinal: true)
      checkRepeats(raw, status)
    }
    let archived = try await archivedRecords()
    check(archived, isFinal: sendsAgain, of: "audit")
    let numbers = Set(raw.map(\.number))
    expect(Set(archived.map(\.number)) == numbers, "the sinks differ")
    expect(archived.count == numbers.count, "audit: numbers repeat")

    let letters = readLetters()
    checkLetters(letters, raw, status)
    let now = place.receivers.now
    let refused = Set(letters.open.map(\.id))
    let good = Set(raw.map(\.id).filter { !PowerLossLoad.isRefused($0) }).subtracting(refused)
    let taken = takenInAll
    expectNone(good.subtracting(taken), "upstream: stored and never taken")
    let hooked = hookedInAll
    expectNone(Set(raw.map(\.id)).subtracting(hooked.keys), "hook: stored and never taken")
    checkHooked(hooked, raw, status)
    expectNone(now.foreign, "upstream or hook: altered or never sent")
    checkBooks(status, stored: numbers.count, letters: letters.open.count)
    checkAudit()
    queued = ["raw", "hook", "upstream"].reduce(0) { $0 + facts.sentAgain(to: $1, by: length) }
    sentAgain = replayed("raw", status) + replayed("hook", status) + letters.marked.count
  }

  private mutating func archivedRecords() async throws -> [Record] {
    guard isThere("archive/manifest.ndjson") else { return [] }
    let cat = try await eventRelay("archive", "cat", place.disk.file("archive"), environment: place.afterCut)
    expect(cat.exitCode == 0, "archive cat: \(cat.errors)")
    return records(of: Array(cat.output.utf8), "archive")
  }

  private func isThere(_ name: String) -> Bool { access(place.disk.file(name), F_OK) == 0 }

  private mutating func checkBooks(_ status: JSONValue, stored: Int, letters: Int) {
    for destination in status["destinations"]?.array ?? [] {
      let name = destination["name"]?.string ?? "?"
      let ledger = destination["ledger"] ?? .null
      func count(_ key: String) -> Int { ledger[key]?.integer() ?? 0 }
      let dead = name == "upstream" ? letters : 0
      expect(
        count("accepted") == stored + lost.count && count("delivered") == stored + count("replayed") - dead
          && count("dead_lettered") == dead && count("lost") == lost.count && count("dropped") == 0,
        "\(name): the ledger \(ledger) for \(stored) stored events and \(dead) dead letters")
    }
  }

  private mutating func checkSuppressed(_ status: JSONValue) {
    let total: Int = status["ledger"]?["suppressed"]?["total"]?.integer() ?? 0
    let answered = facts.denied.filter { $0.length <= length }.reduce(0) { $0 + $1.events }
    expect((answered...facts.deniedSent).contains(total), "\(total) suppressed, \(answered) answered")
  }

  /// Every change that the operator was told of has its line, also one that was made after the cut.
  private mutating func checkAudit() {
    let lines = readLines(place.disk.file("data/audit.ndjson"))
    let whole = lines.filter { (try? JSONValue(parsing: $0))?["action"]?.string == "reload" }.count
    let told = facts.changes.filter { $0 <= length }.count + (sendsAgain ? 1 : 0)
    expect(whole >= told, "the audit trail has \(whole) of \(told) changes")
    let asked = Set(lines.compactMap { (try? JSONValue(parsing: $0))?["details"]?["id"]?.string })
    expectNone(
      Set((facts.begun + facts.replays).filter { $0.length <= length }.map(\.id)).subtracting(asked),
      "replays that aren't in the audit trail")
  }

  /// Of the last round of writing one request's frame may be broken and a later one whole. Whether the round was answered
  /// the log can't know, so it counts the broken one as lost. That no answered event is among them, other checks see to.
  private mutating func readLost(_ text: String) {
    for line in text.split(separator: "\n") where Self.isOfBrokenFrame(line) {
      func number(_ key: String) -> Int? {
        line.split(separator: " ").first { $0.hasPrefix(key) }.flatMap { Int($0.dropFirst(key.count)) }
      }
      guard let first = number("first_lost="), let last = number("last_lost="), first <= last else { continue }
      lost.formUnion(first...last)
    }
  }

  /// (In a queue of events that are sent again nothing is lost: what the put that was under way has broken is put in anew.)
  private static func isOfBrokenFrame(_ line: Substring) -> Bool {
    line.contains(" ERROR a record of the log is damaged: its events are lost") && !line.contains("/replays/")
  }

  /// A cut within the model is no damage but that.
  private mutating func checkLog(_ text: String) {
    for line in text.split(separator: "\n") where line.contains(" ERROR ") && !Self.isOfBrokenFrame(line) {
      faults.append("the relay says: \(line)")
    }
    if text.contains("a write that never ended was cut off") { tornTails += 1 }
  }

  private mutating func checkTools() async throws {
    var tools = [["doctor", "--deep", "--config", place.disk.file("relay.yaml")]]
    // (The doctor does the same as these two, which are made with the first event.)
    if sendsAgain {
      if !records("events").isEmpty { tools.append(["log", "verify", place.disk.file("data")]) }
      if isThere("archive/manifest.ndjson") { tools.append(["archive", "verify", place.disk.file("archive")]) }
    }
    for words in tools {
      let result = try await eventRelay(words, environment: place.afterCut)
      // (What is lost they name, as long as its segment is there.)
      let isExplained = !lost.isEmpty && result.output.contains("damage") && !words.contains("archive")
      expect(result.exitCode == 0 || isExplained, "\(words.prefix(2)): \(result.output)\(result.errors)")
    }
  }

  private func sendAgain(_ relay: RelayProcess) async throws {
    try await relay.reload(place.settings(linger: "25ms"), in: place.disk)
    for batch in load.batches where batch.mayBeSentAgain {
      let answer = try await relay.post(batch.body, key: batch.kind == .waiting ? "aso_wk_slow" : "aso_wk_test")
      guard answer.status == 200 else { throw TestFailure("sent again: \(answer.status) \(answer.text)") }
    }
  }
}
