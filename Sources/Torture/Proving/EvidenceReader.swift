import Archive
import EventLog
import Records

/// Reads what a stopped relay has left: its sinks' files, dead letters, ledgers, and its own log lines. Blocks in file calls.
struct EvidenceReader {
  /// Bytes of a file that is read at once: more than any here has.
  private static let fileMax = 1 << 30

  let setup: TortureSetup
  let mint: EventMint

  init(_ setup: TortureSetup, _ mint: EventMint) {
    self.setup = setup
    self.mint = mint
  }

  /// - Parameter excused: the numbers of events that damage took while they were owed.
  func lineFiles(_ name: String, excused: Set<UInt64>) -> DestinationEvidence {
    var found = DestinationEvidence(name: name, role: .files, place: setup.events)
    var sequences: [UInt64] = []
    for file in names(in: setup.events) where file.hasSuffix(".ndjson") {
      forEachLine(of: "\(setup.events)/\(file)") { take($0, $1, into: &found, &sequences, of: file) }
    }
    found.repeated = Self.repeated(&sequences)
    found.keptInFiles = excused.intersection(sequences).count
    return found
  }

  func archive(_ name: String) -> DestinationEvidence {
    var found = DestinationEvidence(name: name, role: .files, place: setup.archive)
    var sequences: [UInt64] = []
    do throws(ArchiveError) {
      try ArchiveReader(directory: setup.archive).forEachLine { place, line in
        take(line, 0..<line.count, into: &found, &sequences, of: place.file)
        return true
      }
    } catch {
      found.notes.add(.init(id: "", detail: "the archive can't be read: \(error)"))
    }
    found.repeated = Self.repeated(&sequences)
    return found
  }

  private func take(
    _ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, into found: inout DestinationEvidence,
    _ sequences: inout [UInt64], of file: String
  ) {
    let record = RecordedLine(bytes, in: line, mint)
    found.lines += 1
    if record.sequence > 0 { sequences.append(record.sequence) }
    if var oddity = record.oddity {
      oddity.detail += " in \(file)"
      found.notes.add(oddity)
    }
    guard let number = record.number else { return }
    found.copies[number, default: 0] += 1
    if let used = record.timeUsed { found.timesUsed[number, default: []].insert(used) }
  }

  private static func repeated(_ sequences: inout [UInt64]) -> [UInt64] {
    sequences.sort()
    return zip(sequences, sequences.dropFirst()).filter { $0 == $1 }.map(\.0)
  }

  func addDeadLetters(_ destinations: inout [DestinationEvidence]) {
    for file in names(in: setup.deadLetters) where file.hasSuffix(".ndjson") {
      forEachLine(of: "\(setup.deadLetters)/\(file)") { bytes, line in
        let record = RecordedLine(bytes, in: line, mint)
        guard let index = destinations.firstIndex(where: { $0.name == record.destination }) else {
          destinations[0].notes.add(.init(id: "", detail: "a dead letter of nobody's in \(file)"))
          return
        }
        if var oddity = record.oddity {
          oddity.detail += " among the dead letters, in \(file)"
          destinations[index].notes.add(oddity)
        }
        guard let number = record.number else { return }
        destinations[index].deadLetters[number, default: 0] += 1
        if record.reason == "poison" { destinations[index].poisoned.insert(number) }
      }
    }
  }

  func addLedgers(_ destinations: inout [DestinationEvidence]) {
    guard let view = try? LogView.read(setup.data) else { return }
    for index in destinations.indices {
      guard let found = view.destinations.first(where: { $0.name == destinations[index].name }),
        let books = try? found.books()
      else { continue }
      let ledger = books.ledger
      destinations[index].ledger = DestinationEvidence.Ledger(
        accepted: Int(ledger.accepted), replayed: Int(ledger.replayed), delivered: Int(ledger.settled[.delivered]),
        waiting: Int(ledger.waiting), deadLettered: Int(ledger.deadLettered), filtered: Int(ledger.settled[.filtered]),
        dropped: Int(ledger.dropped), lost: Int(ledger.settled[.lost]))
    }
  }

  func archiveFaults() -> [String] {
    do throws(ArchiveError) {
      return try ArchiveVerification.verify(setup.archive).faults.map(\.description)
    } catch {
      return ["\(error)"]
    }
  }

  /// What of the log is damaged, besides what the run has damaged.
  func logFaults(besides account: LossAccount) -> [String] {
    do throws(LogError) {
      return try LogInspection.verify(setup.data).damages.filter { damage in
        guard let lost = damage.lostSequences else { return account.damaged.isEmpty }
        return !lost.allSatisfy { account.damaged[$0] != nil }
      }.map { "\($0.file) at \($0.offset): \($0.detail)" }
    } catch {
      return ["\(error)"]
    }
  }

  /// The numbers that damage took from somebody and the relay's log has not named.
  func unnamedLosses(_ account: LossAccount) -> [UInt64] {
    var named: [ClosedRange<UInt64>] = []
    forEachLine(of: setup.relayLog) { bytes, line in
      let words = String(decoding: bytes[line], as: UTF8.self).split(separator: " ")
      func number(_ key: String) -> UInt64? {
        words.first { $0.hasPrefix("\(key)=") }.flatMap { UInt64($0.dropFirst(key.utf8.count + 1)) }
      }
      // (The second form: a segment's end is gone, and only positions tell what was in it.)
      let isPastEnd = words.contains("past") && words.contains("end:")
      for (first, last) in [("first_lost", "last_lost")] + (isPastEnd ? [("first", "last")] : []) {
        if let first = number(first), let last = number(last), first <= last { named.append(first...last) }
      }
    }
    let lost = account.excused.values.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
    return lost.filter { sequence in !named.contains { $0.contains(sequence) } }.sorted()
  }

  private func names(in directory: String) -> [String] { ((try? FileSystem.system.list(directory)) ?? []).sorted() }

  private func forEachLine(of path: String, _ body: (UnsafeRawBufferPointer, Range<Int>) -> Void) {
    guard let text = try? FileSystem.system.readWhole(path, limit: Self.fileMax) else { return }
    text.withUnsafeBytes { bytes in
      var start = 0
      for at in bytes.indices where bytes[at] == UInt8(ascii: "\n") {
        body(bytes, start..<at)
        start = at + 1
      }
      // Half a line is none, and shows as one.
      if start < bytes.count { body(bytes, start..<bytes.count) }
    }
  }
}
