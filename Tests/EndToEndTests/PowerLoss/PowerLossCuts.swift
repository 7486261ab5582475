import Foundation
import PowerLoss
import TestSupport

/// Takes cuts out of a round, and sums up what they took.
struct PowerLossCuts {
  struct Sums: Sendable {
    var cuts = 0
    /// Cuts in the midst of a sync, right behind one, between a change of a name and its sync; of what recovery wrote.
    var withinSyncs = 0, behindSyncs = 0, withinNames = 0, second = 0
    /// Cuts of a segment's rewriting, and behind one; while replays wrote, and behind one that was said to be done.
    var withinRewritings = 0, behindRewritings = 0, withinReplays = 0, behindReplays = 0
    /// Events that were said to be in a queue and had to be delivered, each time that they were looked for; and all that
    /// relays had sent again, by their books.
    var queued = 0, sentAgain = 0
    /// Events that had to be there, each time that one was looked for.
    var debts = 0
    var tornTails = 0
    /// Events that nobody was told are safe and that the log counts as lost, to be on the safe side.
    var countedLost = 0
    var losses = CutSums()
    /// Cuts that were aimed at something, since it hadn't come about by chance.
    var aimed: [PowerLossAim: Int] = [:]

    mutating func add(_ other: Sums) {
      cuts += other.cuts
      withinSyncs += other.withinSyncs
      behindSyncs += other.behindSyncs
      withinNames += other.withinNames
      second += other.second
      withinRewritings += other.withinRewritings
      behindRewritings += other.behindRewritings
      withinReplays += other.withinReplays
      behindReplays += other.behindReplays
      queued += other.queued
      sentAgain += other.sentAgain
      debts += other.debts
      tornTails += other.tornTails
      countedLost += other.countedLost
      losses.add(other.losses)
      aimed.merge(other.aimed, uniquingKeysWith: +)
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
  let moments: PowerLossMoments
  private(set) var sums = Sums()

  init(_ round: PowerLossRound) {
    self.round = round
    moments = PowerLossMoments(round.journal)
  }

  /// Makes the n-th cut of the round and checks what comes of it. One with a number from ``PowerLossAim/first`` on is aimed at
  /// something; others come as they come.
  /// - Returns: nil when all is right.
  mutating func cut(_ number: Int) async throws -> Failure? {
    let aim = PowerLossAim(number)
    var random = SeededGenerator(seed: round.facts.seed &+ UInt64(number) &* 0x9E37_79B9)
    let at = aim.map { $0.point(in: moments, &random) } ?? point(in: round.journal, moments, &random)
    var history = DiskHistory(round.journal, from: DiskImage(root: round.place.root))
    try history.advance(to: at)
    var image = cutPower(history, aim?.powerCut ?? PowerCut(&random), &random)
    try round.place.restore(image, generation: 1)
    let length = at == 0 ? 0 : round.journal.ends[at - 1]
    note(at, length, moments)
    var check = PowerLossCheck(round, length: length)
    check.sendsAgain = random.chance(25)
    if aim == .secondCut || (aim == nil && random.chance(15)) {
      sums.second += 1
      image = try await cutAgain(image, &check, &random)
      try round.place.restore(image, generation: 2)
    }
    await check.run()
    sums.cuts += 1
    if let aim { sums.aimed[aim, default: 0] += 1 }
    sums.debts += check.debts
    sums.queued += check.queued
    sums.sentAgain += check.sentAgain
    sums.tornTails += check.tornTails
    sums.countedLost += check.lost.count
    return check.faults.isEmpty ? nil : Failure(number: number, record: at, faults: check.faults)
  }

  private mutating func cutPower(
    _ history: DiskHistory, _ cut: PowerCut, _ random: inout SeededGenerator
  ) -> DiskImage {
    let (image, losses) = cut.image(of: history, &random) { $0.hasPrefix("data/log/segment") }
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
    let at = point(in: journal, PowerLossMoments(journal, after: image), &random)
    let length = at == 0 ? 0 : journal.ends[at - 1]
    check.takenSince = PowerLossFacts.ids(place.receivers.now.taken, by: length)
    check.hookedSince = place.receivers.now.hooked.mapValues { times in times.count { $0 <= length } }
    var history = DiskHistory(journal, from: image)
    try history.advance(to: at)
    return cutPower(history, PowerCut(&random), &random)
  }

  /// How many of the records are done when the power goes: anywhere, or around a sync, a change of a name, a rewriting or what
  /// a replay writes.
  private mutating func point(
    in journal: Journal, _ moments: PowerLossMoments, _ random: inout SeededGenerator
  ) -> Int {
    guard !journal.records.isEmpty else { return 0 }
    func some(_ places: [Int]) -> Int? { places.isEmpty ? nil : places[random.below(places.count)] }
    switch random.below(8) {
    case 0:
      if let at = some(moments.syncs) {
        sums.withinSyncs += 1
        return at
      }
    case 1:
      if let at = some(moments.syncs) {
        sums.behindSyncs += 1
        return at + 1
      }
    case 2:
      if let at = some(moments.names) {
        sums.withinNames += 1
        return at + 1
      }
    // (The log's own syncs are few among all the others.)
    case 3:
      if let at = some(moments.logSyncs) {
        sums.withinSyncs += 1
        return at
      }
    case 4: if let at = some(moments.rewritings.flatMap { $0.dropFirst() }) { return at }
    case 5: if let at = some(moments.replays) { return at + random.below(2) }
    case 6:
      if let first = moments.rewritings.map(\.upperBound).min() {
        return first + 1 + random.below(journal.records.count - first)
      }
    default: break
    }
    return random.below(journal.records.count + 1)
  }

  /// Notes what a cut of the recorded round meets.
  private mutating func note(_ at: Int, _ length: Int, _ moments: PowerLossMoments) {
    if moments.rewritings.contains(where: { $0.lowerBound < at && at < $0.upperBound + 1 }) {
      sums.withinRewritings += 1
    } else if moments.rewritings.contains(where: { $0.upperBound < at }) {
      sums.behindRewritings += 1
    }
    if let first = moments.replays.first, let last = moments.replays.last, first < at, at <= last {
      sums.withinReplays += 1
    }
    if round.facts.replays.contains(where: { $0.isDone && $0.length <= length }) { sums.behindReplays += 1 }
  }
}
