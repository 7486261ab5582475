import Foundation
import PowerLoss
import TestSupport

/// Takes cuts out of a round, and sums up what they took.
struct PowerLossCuts {
  struct Sums: Sendable {
    var cuts = 0
    /// Cuts in the midst of a sync, right behind one, between a change of a name and its sync; of what recovery wrote.
    var withinSyncs = 0, behindSyncs = 0, withinNames = 0, second = 0
    /// Events that had to be there, each time that one was looked for.
    var debts = 0
    var tornTails = 0
    /// Events that nobody was told are safe and that the log counts as lost, to be on the safe side.
    var countedLost = 0
    var losses = CutSums()

    mutating func add(_ other: Sums) {
      cuts += other.cuts
      withinSyncs += other.withinSyncs
      behindSyncs += other.behindSyncs
      withinNames += other.withinNames
      second += other.second
      debts += other.debts
      tornTails += other.tornTails
      countedLost += other.countedLost
      losses.add(other.losses)
    }
  }

  /// A cut whose outcome wasn't right.
  struct Failure: Sendable, CustomStringConvertible {
    var number: Int
    var record: Int
    var faults: [String]

    var description: String { "cut \(number), behind record \(record): \(faults.joined(separator: "; "))" }
  }

  let round: PowerLossRound
  private(set) var sums = Sums()

  init(_ round: PowerLossRound) { self.round = round }

  /// Makes the n-th cut of the round and checks what comes of it.
  /// - Returns: nil when all is right.
  mutating func cut(_ number: Int) async throws -> Failure? {
    var random = SeededGenerator(seed: round.facts.seed &+ UInt64(number) &* 0x9E37_79B9)
    let at = point(in: round.journal, &random)
    var history = DiskHistory(round.journal, from: DiskImage(root: round.place.root))
    try history.advance(to: at)
    var image = cutPower(history, &random)
    try round.place.restore(image, generation: 1)
    var check = PowerLossCheck(round, length: at == 0 ? 0 : round.journal.ends[at - 1])
    check.sendsAgain = random.chance(25)
    if random.chance(15) {
      sums.second += 1
      image = try await cutAgain(image, &check, &random)
      try round.place.restore(image, generation: 2)
    }
    await check.run()
    sums.cuts += 1
    sums.debts += check.debts
    sums.tornTails += check.tornTails
    sums.countedLost += check.lost.count
    return check.faults.isEmpty ? nil : Failure(number: number, record: at, faults: check.faults)
  }

  private mutating func cutPower(_ history: DiskHistory, _ random: inout SeededGenerator) -> DiskImage {
    let (image, losses) = PowerCut(&random).image(of: history, &random) { $0.hasPrefix("data/log/segment") }
    sums.losses.add(losses)
    return image
  }

  /// Lets the relay work on what the first cut left, and cuts the power again in the midst of it.
  private mutating func cutAgain(
    _ image: DiskImage, _ check: inout PowerLossCheck, _ random: inout SeededGenerator
  ) async throws -> DiskImage {
    let place = round.place
    unlink(place.journal(1))
    place.receivers.begin(journal: place.journal(1), isHealthy: true)
    let config = place.settings().write(in: place.disk)
    let process = try ChildProcess(
      ["run", "--config", config], environment: place.recording(1, killAfter: 2 + random.below(90)))
    // It is killed before it has finished, or told to stop once it has.
    if await process.waitForLine(" ready") != nil {
      process.kill(SIGTERM)
    }
    _ = await process.wait()
    check.saidBefore = process.errorText + "\n"
    let journal = try Journal(readFile(place.journal(1)) ?? [])
    let at = point(in: journal, &random)
    let length = at == 0 ? 0 : journal.ends[at - 1]
    check.takenSince = PowerLossFacts.ids(place.receivers.now.taken, by: length)
    check.hookedSince = PowerLossFacts.ids(place.receivers.now.hooked, by: length)
    var history = DiskHistory(journal, from: image)
    try history.advance(to: at)
    return cutPower(history, &random)
  }

  /// How many of the records are done when the power goes: anywhere, or around a sync or a change of a name.
  private mutating func point(in journal: Journal, _ random: inout SeededGenerator) -> Int {
    let records = journal.records
    guard !records.isEmpty else { return 0 }
    let isLogs = Set(
      records.compactMap { record -> UInt64? in
        guard case .created(let file, let path) = record, path.hasPrefix("data/log/") else { return nil }
        return file.inode
      })
    func some(_ isMeant: (JournalRecord) -> Bool) -> Int? {
      let found = records.indices.filter { isMeant(records[$0]) }
      return found.isEmpty ? nil : found[random.below(found.count)]
    }
    let kind = random.below(6)
    // (The log's own syncs are few among all the others.)
    if kind == 5, let at = some({ if case .syncReturned(let inode, _) = $0 { isLogs.contains(inode) } else { false } })
    {
      sums.withinSyncs += 1
      return at
    }
    if kind == 0, let at = some({ if case .syncReturned = $0 { true } else { false } }) {
      sums.withinSyncs += 1
      return at
    }
    if kind == 1, let at = some({ if case .syncReturned = $0 { true } else { false } }) {
      sums.behindSyncs += 1
      return at + 1
    }
    let isName: (JournalRecord) -> Bool = {
      switch $0 {
      case .created, .madeDirectory, .renamed, .unlinked, .removedDirectory: true
      default: false
      }
    }
    if kind == 2, let at = some(isName) {
      sums.withinNames += 1
      return at + 1
    }
    return random.below(records.count + 1)
  }
}
