import JSON
import PowerLoss
import TestSupport

/// What came of events that were sent again.
extension PowerLossCheck {
  struct Letters {
    /// Those that stand for an event that was given up, and those that were put back.
    var open: [Record] = []
    var marked: [Record] = []
  }

  func replayed(_ name: String, _ status: JSONValue) -> Int { count("replayed", of: name, status) }

  private func count(_ key: String, of name: String, _ status: JSONValue) -> Int {
    status["destinations"]?.array?.first { $0["name"]?.string == name }?["ledger"]?[key]?.integer() ?? 0
  }

  /// Upstream, from the first relay on.
  var takenInAll: Set<String> {
    PowerLossFacts.ids(facts.taken, by: length).union(takenSince).union(place.receivers.now.taken.keys)
  }

  /// How often each event came to the webhook's receiver, from the first relay on.
  var hookedInAll: [String: Int] {
    facts.timesHooked(by: length).merging(hookedSince, uniquingKeysWith: +)
      .merging(place.receivers.now.hooked.mapValues(\.count), uniquingKeysWith: +).filter { $0.value > 0 }
  }

  /// In the line files each replay has an event once, and they are as many as the books say and whoever asked was told.
  mutating func checkRepeats(_ records: [Record], _ status: JSONValue) {
    var times: [Int: Int] = [:]
    for record in records { times[record.number, default: 0] += 1 }
    let waiting = load.idsWaiting
    let ofWaiting = Set(records.filter { waiting.contains($0.id) }.map(\.number))
    let tooOften = times.filter { $0.value > 1 + replaysOfLog + (ofWaiting.contains($0.key) ? 1 : 0) }
    expect(tooOften.isEmpty, "raw: sent again more than once a replay: \(tooOften)")
    let (repeats, replayed) = (records.count - times.count, replayed("raw", status))
    expect(repeats == replayed, "raw: \(repeats) lines are repeated, \(replayed) were replayed by the books")
    let told = facts.sentAgain(to: "raw", by: length)
    expect(replayed >= told, "raw: \(told) were said to be in the queue, \(replayed) are in the books")
  }

  /// At the webhook's receiver they may be more.
  mutating func checkHooked(_ hooked: [String: Int], _ raw: [Record], _ status: JSONValue) {
    var numbers: [String: Set<Int>] = [:]
    for record in raw { numbers[record.id, default: []].insert(record.number) }
    let again = hooked.reduce(0) { $0 + max(0, $1.value - (numbers[$1.key]?.count ?? 1)) }
    let (replayed, told) = (replayed("hook", status), facts.sentAgain(to: "hook", by: length))
    expect(again >= replayed, "hook: \(replayed) were replayed by the books, \(again) came again")
    expect(replayed >= told, "hook: \(told) were said to be in the queue, \(replayed) are in the books")
  }

  func readLetters() -> Letters {
    var letters = Letters()
    var lines: [String: Int] = [:]
    var marks: [String: [ClosedRange<Int>]] = [:]
    for record in records("data/dead-letters") {
      lines[record.file, default: 0] += 1
      if marks[record.file] == nil { marks[record.file] = readMarks(of: record.file) }
      let isMarked = marks[record.file]!.contains { $0.contains(lines[record.file]!) }
      if isMarked { letters.marked.append(record) } else { letters.open.append(record) }
    }
    return letters
  }

  /// The lines of a file that were put back.
  func readMarks(of file: String) -> [ClosedRange<Int>] {
    let bytes = readFile(place.disk.file("data/dead-letters/\(file).replayed")) ?? []
    let pairs = (try? JSONValue(parsing: bytes))?["lines"]?.array ?? []
    return pairs.compactMap { pair in
      guard let lower: Int = pair.array?.first?.integer(), let upper: Int = pair.array?.last?.integer() else {
        return nil
      }
      return lower...upper
    }
  }

  /// An event that is refused has one letter; one that was refused at first has one, or was taken after it was put back.
  mutating func checkLetters(_ letters: Letters, _ raw: [Record], _ status: JSONValue) {
    expect((letters.open + letters.marked).allSatisfy(\.isWhole), "dead letters are torn or altered")
    let refused = Set(raw.filter { PowerLossLoad.isRefused($0.id) }.map(\.number))
    let open = letters.open.map(\.number).sorted()
    expect(
      letters.open.filter { PowerLossLoad.isRefused($0.id) }.map(\.number).sorted() == refused.sorted(),
      "dead letters \(open) of refused events \(refused.sorted())")
    expect(Set(open).count == open.count, "dead letters \(open): one event has two")
    expectNone(
      (letters.open + letters.marked).map(\.id).filter { !PowerLossLoad.mayBeRefused($0) },
      "dead letters of events that nobody refuses")
    let marked = letters.marked.map(\.number)
    let putBack = count("dead_letters_replayed", of: "upstream", status)
    expect(marked.count == putBack, "\(marked.count) dead letters are marked, \(putBack) were put back by the books")
    let told = facts.sentAgain(to: "upstream", by: length)
    expect(marked.count >= told, "\(told) dead letters were said to be put back, \(marked.count) are marked")
    // Put back, they go to an upstream that takes them.
    let mended = letters.marked.filter { PowerLossLoad.isRefusedAtFirst($0.id) }
    expectNone(
      mended.filter { open.contains($0.number) }.map(\.id), "dead letters that were put back, and there are others")
    expect(Set(mended.map(\.number)).count == mended.count, "dead letters were put back twice: \(marked.sorted())")
    // (One that was sent twice while it was refused may be taken for the other.)
    let once = Dictionary(Set(raw.map { "\($0.id) \($0.number)" }).map { ($0.prefix(36), 1) }, uniquingKeysWith: +)
    let stillOpen = letters.open.filter { PowerLossLoad.isRefusedAtFirst($0.id) && once[$0.id.prefix(36)] == 1 }
    expectNone(takenInAll.intersection(stillOpen.map(\.id)), "dead letters of events that the upstream has taken")
  }

  /// Asks for the same replays once more: what is left of them is done, or all of it anew.
  mutating func replayAgain(_ relay: RelayProcess, _ status: JSONValue) async throws {
    let replays = PowerLossReplays(relay: relay)
    let begun = try await replays.start([.letters, .log])
    try await replays.follow(begun)
    let goesOn = begun.contains { $0.destination == "raw" && $0.sent > 0 }
    if !goesOn, replayed("raw", status) > 0 { replaysOfLog += 1 }
  }
}
