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
  var hookedSince: Set<String> = []
  /// Everything is sent once more, as senders do that missed the answers.
  var sendsAgain = false

  /// What relays said that were cut off while they worked on what the first cut left.
  var saidBefore = ""
  /// Numbers of events that the log names as lost: see ``PowerLossCheck/readLost(_:)``.
  private(set) var lost: Set<Int> = []

  /// What was compared.
  private(set) var debts = 0
  private(set) var tornTails = 0
  private(set) var faults: [String] = []

  init(_ round: PowerLossRound, length: Int) {
    place = round.place
    load = round.load
    facts = round.facts
    self.length = length
  }

  private var finder: EventFinder { EventFinder(sent: load.bytes) }
  private var owed: Set<String> { PowerLossFacts.ids(facts.answered, by: length) }

  mutating func run() async {
    place.receivers.begin(journal: nil, isHealthy: true)
    do {
      let relay = try await RelayProcess(place.disk, place.settings(), environment: place.afterCut)
      var status = try await settle(relay)
      readLost(saidBefore + relay.process.errorText)
      let before = records("events")
      check(before, isFinal: false)
      checkSuppressed(status)
      if sendsAgain {
        try await sendAgain(relay)
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

  private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { faults.append(what()) }
  }

  /// Names a few.
  private mutating func expectNone(_ ids: some Collection<String>, _ what: String) {
    if let one = ids.min() { faults.append("\(what): \(ids.count) events, \(one) among them") }
  }

  /// Waits until nothing waits anywhere.
  private func settle(_ relay: RelayProcess) async throws -> JSONValue {
    let end = ContinuousClock.now + .seconds(120)
    while true {
      _ = try await relay.flush(timeout: "5s")
      let status = try await relay.status()
      let waiting = (status["destinations"]?.array ?? []).reduce(0) { $0 + ($1["ledger"]?["waiting"]?.integer() ?? 1) }
      if waiting == 0 { return status }
      guard ContinuousClock.now < end else { throw TestFailure("\(waiting) events still wait: \(status)") }
      await Task.yield()
    }
  }

  // MARK: Files

  /// A line of a file, by its number.
  private struct Record {
    var number: Int
    var id: String
    var file: String
    var isWhole: Bool
  }

  private func records(_ folder: String) -> [Record] {
    let root = place.disk.file(folder)
    let names = FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []
    return names.filter { $0.hasSuffix(".ndjson") }.sorted().flatMap { name in
      records(of: readFile("\(root)/\(name)") ?? [], name)
    }
  }

  /// The lines of a file; what is no line of a sent event is one that isn't whole.
  private func records(of bytes: [UInt8], _ file: String) -> [Record] {
    let opening = Array(#"{"received_at":""#.utf8)
    var records: [Record] = []
    var start = 0
    for event in finder.events(in: bytes) {
      // (Torn, it may be shorter than it was sent.)
      let head = bytes[min(start, event.at)..<event.at]
      let end = event.end + 2
      let isWhole =
        event.isWhole && head.starts(with: opening) && end <= bytes.count
        && bytes[event.end..<end].elementsEqual("}\n".utf8)
      records.append(Record(number: Self.number(in: head), id: event.id, file: file, isWhole: isWhole))
      start = min(end, bytes.count)
    }
    if start < bytes.count { records.append(Record(number: 0, id: "the last line", file: file, isWhole: false)) }
    return records
  }

  private static func number(in head: ArraySlice<UInt8>) -> Int {
    guard let place = head.firstRange(of: Array(#","seq":"#.utf8)) else { return 0 }
    let digits = head[place.upperBound...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self)) ?? 0
  }

  /// Each number and each event once, all that are owed, whole.
  private mutating func check(_ records: [Record], isFinal: Bool, of sink: String = "raw") {
    let numbers = records.map(\.number).sorted()
    let due = (1...max(1, numbers.last ?? 0)).filter { !lost.contains($0) }
    expect(numbers == due || numbers.isEmpty, "\(sink): numbers repeat or are missing")
    expectNone(records.filter { !$0.isWhole }.map(\.id), "\(sink): lines are torn, altered or of no sent event")
    expectNone(owed.subtracting(records.map(\.id)), "\(sink): answered with 200 and missing")
    var times: [String: Int] = [:]
    for record in records where !PowerLossLoad.isRefused(record.id) { times[record.id, default: 0] += 1 }
    expectNone(times.filter { $0.value > 1 }.map(\.key), "\(sink): stored twice within the window")
    if isFinal { expectNone(load.idsSentAgain.subtracting(records.map(\.id)), "\(sink): sent again and missing") }
    debts += owed.count
  }

  private mutating func checkFiles(_ status: JSONValue, _ before: [Record]) async throws {
    let raw = sendsAgain ? records("events") : before
    if sendsAgain { check(raw, isFinal: true) }
    let archived = try await archivedRecords()
    check(archived, isFinal: sendsAgain, of: "audit")
    expect(Set(archived.map(\.number)) == Set(raw.map(\.number)), "the sinks differ")

    let refused = raw.filter { PowerLossLoad.isRefused($0.id) }
    let letters = records("data/dead-letters")
    expect(
      letters.map(\.number).sorted() == refused.map(\.number).sorted(),
      "dead letters \(letters.map(\.number).sorted()) of refused events \(refused.map(\.number).sorted())")
    expect(letters.allSatisfy(\.isWhole), "dead letters are torn or altered")

    let now = place.receivers.now
    let good = Set(raw.map(\.id).filter { !PowerLossLoad.isRefused($0) })
    let taken = PowerLossFacts.ids(facts.taken, by: length).union(takenSince).union(now.taken.keys)
    expectNone(good.subtracting(taken), "upstream: stored and never taken")
    let hooked = PowerLossFacts.ids(facts.hooked, by: length).union(hookedSince).union(now.hooked.keys)
    expectNone(Set(raw.map(\.id)).subtracting(hooked), "hook: stored and never taken")
    expectNone(now.foreign, "upstream or hook: altered or never sent")
    checkBooks(status, stored: raw.count, letters: letters.count)
    checkAudit()
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
        count("accepted") == stored + lost.count && count("delivered") == stored - dead
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
  }

  /// Of the last round of writing one request's frame may be broken and a later one whole. Whether the round was answered
  /// the log can't know, so it counts the broken one as lost. That no answered event is among them, other checks see to.
  private mutating func readLost(_ text: String) {
    for line in text.split(separator: "\n") where line.contains(Self.brokenFrame) {
      func number(_ key: String) -> Int? {
        line.split(separator: " ").first { $0.hasPrefix(key) }.flatMap { Int($0.dropFirst(key.count)) }
      }
      guard let first = number("first_lost="), let last = number("last_lost="), first <= last else { continue }
      lost.formUnion(first...last)
    }
  }

  private static let brokenFrame = " ERROR a record of the log is damaged: its events are lost"

  /// A cut within the model is no damage but that.
  private mutating func checkLog(_ text: String) {
    for line in text.split(separator: "\n") where line.contains(" ERROR ") && !line.contains(Self.brokenFrame) {
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
