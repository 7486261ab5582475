import Foundation
import PowerLoss
import Synchronization
import TestSupport

/// A relay under load whose every change to its files is recorded, with a kill in the middle: what cuts are taken out of.
struct PowerLossRound: Sendable {
  let place: PowerLossPlace
  let load: PowerLossLoad
  let facts: PowerLossFacts
  let journal: Journal
  /// Whether what the relay believes to be safe is.
  var isHonest = true

  /// How a round is to be spoilt, so that losses must be found.
  struct Spoiling: Sendable {
    var lie: String?
    var durability = "fsync"

    var isHonest: Bool { lie == nil && durability == "fsync" }
  }

  static func record(seed: UInt64, spoilt: Spoiling = Spoiling()) async throws -> PowerLossRound {
    let time = TestEvent.now
    let load = PowerLossLoad(seed: seed, time: time)
    let receivers = try PowerLossReceivers(EventFinder(sent: load.bytes))
    let place = PowerLossPlace(
      disk: TemporaryDirectory(), notes: TemporaryDirectory(), receivers: receivers,
      rewrites: PowerLossLoad.rewrites(seed: seed))
    place.writeDenied()
    receivers.begin(journal: place.journal(0), isHealthy: false)
    let facts = PowerLossFacts(
      seed: seed, time: time, upstreamPort: receivers.upstream.port, hookPort: receivers.hook.port)
    let senders = PowerLossSenders(load, facts, journal: place.journal(0))
    try await run(place, senders, spoilt, killAfter: 150 + Int(SeededGenerator.first(seed) % 900))
    var known = senders.facts
    known.taken = receivers.now.taken
    known.hooked = receivers.now.hooked
    let journal = try Journal(readFile(place.journal(0)) ?? [])
    let encoded = try JSONEncoder().encode(known)
    _ = place.notes.write("facts.json", String(decoding: encoded, as: UTF8.self))
    var round = PowerLossRound(place: place, load: load, facts: known, journal: journal)
    round.isHonest = spoilt.isHonest
    return round
  }

  /// Takes up a round that was kept.
  init(kept path: String, disk: String) throws {
    facts = try JSONDecoder().decode(PowerLossFacts.self, from: Data(readFile("\(path)/facts.json") ?? []))
    load = PowerLossLoad(seed: facts.seed, time: facts.time)
    let receivers = try PowerLossReceivers(
      EventFinder(sent: load.bytes), upstreamPort: facts.upstreamPort, hookPort: facts.hookPort)
    place = PowerLossPlace(
      disk: TemporaryDirectory(at: disk), notes: TemporaryDirectory(at: path), receivers: receivers,
      rewrites: PowerLossLoad.rewrites(seed: facts.seed))
    journal = try Journal(readFile(place.journal(0)) ?? [])
  }

  private init(place: PowerLossPlace, load: PowerLossLoad, facts: PowerLossFacts, journal: Journal) {
    (self.place, self.load, self.facts, self.journal) = (place, load, facts, journal)
  }

  private static func run(
    _ place: PowerLossPlace, _ senders: PowerLossSenders, _ spoilt: Spoiling, killAfter: Int
  ) async throws {
    var settings = place.settings(durability: spoilt.durability)
    settings.grace = "300ms"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 { group.addTask { try await senders.send() } }
      let first = try await RelayProcess(
        place.disk, settings,
        environment: place.recording(0, killAfter: killAfter, atName: killAfter.isMultiple(of: 2), lie: spoilt.lie))
      senders.relay(at: first.ingest[0])
      // It ends by itself, at whatever record comes; or with most of the load behind it, should that make too few.
      group.addTask {
        try await senders.waitForMost()
        first.process.kill(SIGUSR2)
      }
      guard await first.process.wait() == 128 + SIGKILL else {
        throw TestFailure("the relay isn't killed:\n\(first.process.errorText)")
      }
      var relay = try await RelayProcess(
        place.disk, settings, environment: place.recording(0, killAfter: nil, lie: spoilt.lie))
      senders.relay(at: relay.ingest[0])
      for linger in ["21ms", "22ms"] {
        settings.linger = linger
        try await relay.reload(settings, in: place.disk)
        senders.noteChange()
      }
      try await senders.waitForMost()
      // What a destination is still owed isn't sent again.
      try await lookAgain {
        let all = try await relay.status()["destinations"]?.array ?? []
        func count(_ key: String, of name: String) -> Int? {
          all.first { $0["name"]?.string == name }?["ledger"]?[key]?.integer()
        }
        return count("dead_lettered", of: "upstream") == 0 || count("waiting", of: "raw") != 0
          || count("waiting", of: "hook") != 0
      }
      place.receivers.mend()
      let orders = [PowerLossReplays.Order.letters, .log, .archive(place.disk.file("archive"))]
      relay = try await interruptReplays(orders, relay, senders) {
        try await RelayProcess(place.disk, settings, environment: place.recording(0, killAfter: nil, lie: spoilt.lie))
      }
      try await group.waitForAll()
      if place.rewrites { try await waitForRewriting(place, relay) }
      let replays = PowerLossReplays(relay: relay) { senders.note($0, hasBegun: $1) }
      try await replays.follow(try await replays.start([.waiting]))
      // A stop has writes of its own.
      guard try await relay.stop() == 0 else { throw TestFailure(relay.process.errorText) }
    }
  }

  /// Has past events sent again, kills the relay in the middle of it, and has the next one finish it, while the last events
  /// come in.
  private static func interruptReplays(
    _ orders: [PowerLossReplays.Order], _ relay: RelayProcess, _ senders: PowerLossSenders,
    _ next: () async throws -> RelayProcess
  ) async throws -> RelayProcess {
    var replays = PowerLossReplays(relay: relay) { senders.note($0, hasBegun: $1) }
    let begun = try await replays.start(orders)
    senders.finish()
    // Each has put something into its queue by then.
    try await replays.follow(begun) { $0.allSatisfy { $0.sent > 0 || $0.isDone } }
    // (Not by a plain SIGKILL: see the shim.)
    relay.process.kill(SIGUSR2)
    guard await relay.process.wait() == 128 + SIGKILL else { throw TestFailure(relay.process.errorText) }
    let relay = try await next()
    senders.relay(at: relay.ingest[0])
    replays = PowerLossReplays(relay: relay) { senders.note($0, hasBegun: $1) }
    try await replays.follow(try await replays.start(orders))
    return relay
  }

  /// Waits until a finished segment was written anew: nothing else leaves a small one.
  private static func waitForRewriting(_ place: PowerLossPlace, _ relay: RelayProcess) async throws {
    try await lookAgain {
      guard try await relay.admin("GET", "/livez").status == 200 else { throw TestFailure("the relay isn't live") }
      let names = try FileManager.default.contentsOfDirectory(atPath: place.disk.file("data/log"))
      return !names.contains { name in
        var status = stat()
        return name.hasPrefix("segment-") && stat(place.disk.file("data/log/\(name)"), &status) == 0
          && status.st_size < PowerLossPlace.rewrittenMax
      }
    }
  }

  /// Whether the journal tells of every change there was: what it makes of an empty directory is what is there.
  func gaps() throws -> [String] {
    var history = DiskHistory(journal, from: DiskImage(root: place.root))
    try history.advance(to: journal.records.count)
    let image = history.whole
    var faults: [String] = []
    var there: Set<String> = []
    for name in FileManager.default.enumerator(atPath: place.disk.path)?.allObjects as? [String] ?? [] {
      there.insert(name)
    }
    there.subtract(["relay.yaml", "deny.txt"])
    let told = Set(image.paths)
    for path in told.symmetricDifference(there).sorted() {
      faults.append("\(path) is \(there.contains(path) ? "there" : "in the journal") alone")
    }
    for entry in image.entries {
      guard let content = entry.content, there.contains(entry.path) else { continue }
      if readFile(place.disk.file(entry.path)) != content { faults.append("\(entry.path) holds other bytes") }
    }
    return faults
  }
}

extension SeededGenerator {
  /// The first number that a seed gives.
  static func first(_ seed: UInt64) -> UInt64 {
    var random = SeededGenerator(seed: seed)
    return random.next()
  }
}
