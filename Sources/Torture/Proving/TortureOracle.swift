/// Judges a run: evidence in, a verdict out. Pure.
struct TortureOracle {
  private let evidence: TortureEvidence
  private var verdict = TortureVerdict()

  static func judge(_ evidence: TortureEvidence) -> TortureVerdict {
    var oracle = TortureOracle(evidence: evidence)
    for destination in evidence.destinations { oracle.judge(destination) }
    oracle.judgeTheRest()
    return oracle.verdict
  }

  private init(evidence: TortureEvidence) { self.evidence = evidence }

  private mutating func judge(_ destination: DestinationEvidence) {
    var row = TortureVerdict.Row(destination: destination.name)
    for (number, entry) in evidence.entries.enumerated() { judge(number, entry, destination, &row) }
    for (number, _) in destination.copies where !evidence.entries.indices.contains(number) {
      row.spurious += 1
      verdict.add("spurious", destination.name, "event \(named(number)) was never sent", at: destination.place)
    }
    judgeNotes(destination, &row)
    for sequence in destination.repeated {
      row.duplicates += 1
      verdict.add("duplicate", destination.name, "seq \(sequence) stands there twice", at: destination.place)
    }
    judgeLedger(destination, &row)
    verdict.rows.append(row)
  }

  private mutating func judge(
    _ number: Int, _ entry: DebtEntry, _ destination: DestinationEvidence, _ row: inout TortureVerdict.Row
  ) {
    let kind = evidence.mint.kind(number)
    let copies = destination.copies[number] ?? 0
    let letters = destination.deadLetters[number] ?? 0
    // What the upstream refuses for good has its place among the dead letters, and there alone.
    let isForLetters = destination.role == .upstream && kind == .unwanted
    // One that the script answered with 5xx again and again, and others meanwhile not, is given up by the relay's rule.
    let mayBePoison =
      destination.role == .upstream && destination.poisoned.contains(number) && evidence.faults.keys.contains(.error)
    row.deadLettered += letters
    if entry.isOwed {
      row.debts += 1
      let found = isForLetters ? letters : mayBePoison ? copies + letters : copies
      if found == 0, !destination.excused.contains(number) {
        row.missing += 1
        let wanted = isForLetters ? "among the dead letters" : "there"
        verdict.add(
          "missing", destination.name, "event \(named(number)) was answered with 200 and isn't \(wanted)",
          at: destination.place)
      }
    }
    if copies > 0, kind == .invalid || entry.sent == 0 || (entry.isRejected && !entry.isOwed) {
      row.spurious += 1
      let why = entry.sent == 0 ? "was never sent" : "was rejected"
      verdict.add("spurious", destination.name, "event \(named(number)) \(why), and is there", at: destination.place)
    }
    if letters > 0, !isForLetters, !mayBePoison {
      row.spurious += 1
      verdict.add(
        "spurious", destination.name, "event \(named(number)) is a dead letter, and nobody refused it",
        at: destination.place)
    }
    if isForLetters, letters > Int(entry.sent), !destination.wasRestored {
      row.duplicates += 1
      verdict.add(
        "duplicate", destination.name,
        "event \(named(number)) was sent \(entry.sent) times and is a dead letter \(letters) times",
        at: destination.place)
    }
    guard destination.role == .files else {
      row.duplicates += max(0, copies - 1)
      return
    }
    // A sender whose answer was lost sends again, and the relay keeps that as another event.
    if copies > Int(entry.sent), entry.sent > 0 {
      row.duplicates += 1
      verdict.add(
        "duplicate", destination.name,
        "event \(named(number)) was sent \(entry.sent) times and stands there \(copies) times",
        at: destination.place)
    }
  }

  private mutating func judgeNotes(_ destination: DestinationEvidence, _ row: inout TortureVerdict.Row) {
    row.altered += destination.notes.alteredCount
    row.spurious += destination.notes.oddityCount - destination.notes.alteredCount
    for oddity in destination.notes.oddities {
      verdict.add(
        oddity.isAltered ? "altered" : "spurious", destination.name, "event \(oddity.id): \(oddity.detail)",
        at: destination.place)
    }
    let unnamed = destination.notes.oddityCount - destination.notes.oddities.count
    if unnamed > 0 { verdict.findingCount += unnamed }
    for (number, times) in destination.notes.clamped.sorted(by: { $0.key < $1.key }) {
      guard !times.isSubset(of: knownTimes(number)), !isExcusedSomewhere(number) else { continue }
      row.altered += 1
      verdict.add(
        "altered", destination.name,
        "event \(named(number)) has another occurred_at, and no line of a file sink says that this time counts",
        at: destination.place)
    }
  }

  /// The times in place of an event's own that a file sink's lines name.
  private func knownTimes(_ number: Int) -> Set<String> {
    evidence.destinations.reduce(into: []) { $0.formUnion($1.timesUsed[number] ?? []) }
  }

  private func isExcusedSomewhere(_ number: Int) -> Bool {
    evidence.destinations.contains { $0.role == .files && $0.excused.contains(number) }
  }

  private func named(_ number: Int) -> String {
    evidence.mint.kind(number) == .identify ? evidence.mint.user(number) : evidence.mint.id(number)
  }
}

extension TortureOracle {
  private mutating func judgeLedger(_ destination: DestinationEvidence, _ row: inout TortureVerdict.Row) {
    let before = verdict.findingCount
    guard let ledger = destination.ledger else {
      return verdict.add("ledger", destination.name, "its ledger can't be read", at: destination.place)
    }
    func wrong(_ detail: String) { verdict.add("ledger", destination.name, detail, at: destination.place) }
    row.lost = ledger.lost
    if !ledger.isBalanced { wrong("its columns don't add up: \(ledger)") }
    if ledger.waiting != 0 { wrong("\(ledger.waiting) events wait, and nothing keeps them") }
    if ledger.dropped != 0 || ledger.filtered != 0 {
      wrong("it counts events as dropped or filtered that no rule let go")
    }
    let lost = destination.expectedLost - (destination.wasRestored ? 0 : destination.keptInFiles)
    // (A file sink finds some of what its older position would have again, behind that position's end of its file.)
    if destination.wasRestored && destination.role == .files ? ledger.lost > lost : ledger.lost != lost {
      wrong("it counts \(ledger.lost) events as lost; damage took \(lost)")
    }
    let letters = destination.deadLetters.values.reduce(0, +)
    // (A position that was put back takes the ledger back with it.)
    if !destination.wasRestored {
      if ledger.deadLettered != letters { wrong("it counts \(ledger.deadLettered) dead letters; there are \(letters)") }
      if destination.role == .files, ledger.delivered != destination.lines {
        wrong("it counts \(ledger.delivered) events as delivered; its files have \(destination.lines) lines")
      }
    } else if destination.role == .files, ledger.delivered > destination.lines {
      wrong("it counts \(ledger.delivered) events as delivered; its files have but \(destination.lines) lines")
    }
    if let other = evidence.destinations.compactMap(\.ledger).first, ledger.accepted != other.accepted {
      wrong("it was owed \(ledger.accepted) events, and another destination \(other.accepted)")
    }
    row.isLedgerExact = verdict.findingCount == before
  }

  private mutating func judgeTheRest() {
    for detail in evidence.archiveFaults { verdict.add("archive", "audit", detail, at: "archive") }
    for detail in evidence.logFaults { verdict.add("log", "", detail, at: "data/log") }
    for sequence in evidence.unnamedLosses {
      verdict.add("log", "", "seq \(sequence) is lost, and no line of the relay's log names it", at: "relay.log")
    }
    for detail in evidence.incidents { verdict.add("incident", "", detail, at: "relay.log") }
    for (fault, count) in evidence.faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count == 0 {
      verdict.add("vacuous", "", "\(fault.rawValue) never happened: take more minutes", at: "")
    }
    let debts = evidence.entries.count { $0.isOwed }
    if debts < evidence.debtsWanted {
      verdict.add("vacuous", "", "\(debts) events were promised; \(evidence.debtsWanted) are wanted", at: "")
    }
    let repeats = verdict.rows.first { $0.destination == "upstream" }?.duplicates ?? 0
    if evidence.faults.keys.contains(where: \.repeatsEvents), repeats == 0, !evidence.entries.isEmpty {
      verdict.add("vacuous", "", "nothing came upstream twice, and faults were chosen that make it", at: "")
    }
  }
}
