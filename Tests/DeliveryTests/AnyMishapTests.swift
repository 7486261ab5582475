import Clocks
import Dialects
import EventLog
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// Whatever happens, by chance: faults, refusals, crashes, reloads.
@Suite("A protocol with several persons' requests at once, whatever happens")
struct AnyMishapTests {
  /// What the upstream has taken.
  private struct Taken {
    var chance: SeededGenerator
    var isWell = false
    /// In the order they came in first.
    var numbers: [Int] = []
    var known: Set<Int> = []
  }

  private static let count = 240

  @Test("nothing is lost, each person's events come in order, and the limit holds", arguments: 1...40)
  func all(seed: Int) async {
    let scene = Scene()
    var chance = SeededGenerator(seed: UInt64(seed))
    let persons = (0...Self.count).map { _ in UInt64.random(in: 0..<12, using: &chance) }
    let taken = Mutex(Taken(chance: SeededGenerator(seed: UInt64(seed) << 20)))
    scene.upstream.answers { sent in
      taken.withLock { taken in
        let reply = Self.reply(sent, &taken)
        guard let reply else {
          for number in sent.numbers where taken.known.insert(number).inserted { taken.numbers.append(number) }
          return Bool.random(using: &taken.chance) ? .accepted(sent) : .hold
        }
        return reply
      }
    }
    var stored = 0
    var configuration = OtherDialect.apart.configuration()
    var life = await scene.start(byApp: ["web": configuration])
    while stored < Self.count {
      let events = Int.random(in: 1...4, using: &chance)
      for number in stored + 1...min(stored + events, Self.count) {
        scene.store([number], app: "web", install: persons[number], dialect: 101, request: UInt64(1000 + stored))
      }
      stored = min(stored + events, Self.count)
      guard Int.random(in: 0..<3, using: &chance) == 0 else { continue }
      life.subscription.progress()
      scene.simulation.advance(by: .milliseconds(Int.random(in: 0..<4000, using: &chance)))
      scene.upstream.release()
      switch Int.random(in: 0..<8, using: &chance) {
      case 0:
        await scene.simulation.drive { [life] in await life.destination.engine.die() }
        life = await scene.start(byApp: ["web": configuration])
      case 1:
        configuration.maxBatchEvents = Int.random(in: 1...4, using: &chance)
        configuration.concurrency = Int.random(in: 1...8, using: &chance)
        let upstreams = Upstreams(usual: Scene.configuration(), byApp: ["web": configuration])
        await scene.simulation.drive { [life] in await life.destination.reconfigure(upstreams) }
      default: break
      }
    }
    taken.withLock { $0.isWell = true }
    for _ in 0..<200 {
      scene.simulation.advance(by: .seconds(10))
      scene.upstream.release()
    }
    #expect(life.status.pending.events == 0)
    #expect(life.ledger.isBalanced)
    let numbers = taken.withLock { $0.numbers }
    #expect(numbers.sorted() == Array(1...Self.count))
    var order: [UInt64: [Int]] = [:]
    for number in numbers { order[persons[number], default: []].append(number) }
    for (person, numbers) in order { #expect(numbers == numbers.sorted(), "person \(person)") }
    let moments = scene.upstream.sent.map(\.at)
    for (first, last) in zip(moments, moments.dropFirst(100)) { #expect(last - first >= .seconds(60)) }
  }

  /// Nil: it is taken.
  private static func reply(_ sent: FakeUpstream.Sent, _ taken: inout Taken) -> FakeUpstream.Reply? {
    guard !taken.isWell else { return nil }
    switch Int.random(in: 0..<12, using: &taken.chance) {
    case 0: return .noConnection
    case 1: return .error(503, "down")
    case 2: return .error(429, "rate_limited", retryAfter: "1")
    case 3 where sent.numbers.count > 1: return .error(413, "large")
    case 4: return .held(500, "down")
    case 5 where sent.numbers.contains { $0 % 37 == 0 }: return .error(502, "down")
    default: return sent.numbers.contains { $0 % 41 == 0 } ? .error(500, "down") : nil
    }
  }

  // MARK: Configurations

  /// What becomes of the app.
  private enum Place: CaseIterable {
    case there, removed, otherProtocol

    func upstreams() -> Upstreams {
      var usual = Scene.configuration()
      usual.onExpired = .deadLetter
      return Upstreams(usual: usual, byApp: self == .there ? ["web": OtherDialect.apart.configuration()] : [:])
    }

    func setKey(_ keys: Scene.Keys) { keys.set("web", self == .removed ? nil : "aso_wk_any") }
  }

  @Test("an app removed, put back, and speaking another protocol for a while loses nothing", arguments: 1...20)
  func places(seed: Int) async {
    let scene = Scene()
    let keys = scene.keys
    var chance = SeededGenerator(seed: UInt64(seed) << 8)
    let persons = (0...Self.count).map { _ in UInt64.random(in: 0..<12, using: &chance) }
    let taken = Mutex(Taken(chance: SeededGenerator(seed: UInt64(seed) << 20)))
    scene.upstream.answers { sent in
      taken.withLock { taken in
        if let reply = Self.reply(sent, &taken) { return reply }
        for number in sent.numbers where taken.known.insert(number).inserted { taken.numbers.append(number) }
        return .accepted(sent)
      }
    }
    func start(_ place: Place) async -> Scene.Life {
      place.setKey(keys)
      return await scene.start(place.upstreams().usual, byApp: place.upstreams().byApp)
    }
    func change(_ life: Scene.Life, to place: Place) async {
      await scene.simulation.drive { await life.destination.reconfigure(place.upstreams()) { place.setKey(keys) } }
    }
    var life = await start(.there)
    for number in 1...Self.count {
      scene.store(
        [number], app: "web", install: persons[number],
        occurredAt: scene.simulation.wallClock.now - .seconds(30 * 86_400), dialect: 101)
      guard Int.random(in: 0..<4, using: &chance) == 0 else { continue }
      life.subscription.progress()
      scene.simulation.advance(by: .milliseconds(Int.random(in: 0..<4000, using: &chance)))
      scene.upstream.release()
      guard let place = Place.allCases.randomElement(using: &chance) else { continue }
      if Int.random(in: 0..<4, using: &chance) > 0 {
        await change(life, to: place)
      } else {
        await scene.simulation.drive { [life] in await life.destination.engine.die() }
        life = await start(place)
      }
      scene.simulation.advance(by: .seconds([0, 2, 700].randomElement(using: &chance) ?? 0))
    }
    taken.withLock { $0.isWell = true }
    await change(life, to: .there)
    for _ in 0..<100 {
      scene.simulation.advance(by: .seconds(10))
      scene.upstream.release()
    }
    #expect(scene.upstream.sent.allSatisfy { $0.url == "http://apart.test/in" })
    #expect(scene.deadLetters.isEmpty)
    #expect(life.status.pending.events == 0 && life.ledger.isBalanced)
    let numbers = taken.withLock { $0.numbers }
    #expect(numbers.sorted() == Array(1...Self.count))
    var order: [UInt64: [Int]] = [:]
    for number in numbers { order[persons[number], default: []].append(number) }
    for (person, numbers) in order { #expect(numbers == numbers.sorted(), "person \(person)") }
  }

  // MARK: In order

  @Test(
    "Voidhash: all come in order, and what the upstream doesn't take is in the dead letters once", arguments: 1...40)
  func ordered(seed: Int) async throws {
    let scene = Scene()
    var chance = SeededGenerator(seed: UInt64(seed))
    let taken = Mutex(Taken(chance: SeededGenerator(seed: UInt64(seed) << 20)))
    scene.upstream.answers { sent in
      taken.withLock { taken in
        if let reply = Self.orderedReply(sent, &taken) { return reply }
        for number in sent.numbers where taken.known.insert(number).inserted { taken.numbers.append(number) }
        return .status(202, #"{"accepted":\#(sent.numbers.count),"rejected":0}"#)
      }
    }
    let dialect = try #require(DialectRegistry.dialect(named: "voidhash"))
    var configuration = UpstreamConfiguration(defaultsOf: dialect)
    var life = await scene.start(byApp: ["app": configuration])
    var stored = 0
    while stored < Self.count {
      let events = Int.random(in: 1...30, using: &chance)
      scene.store(
        stored + 1...min(stored + events, Self.count), app: "app", install: UInt64(stored % 3),
        dialect: dialect.number)
      stored = min(stored + events, Self.count)
      life.subscription.progress()
      scene.simulation.advance(by: .milliseconds(Int.random(in: 0..<20_000, using: &chance)))
      scene.upstream.release()
      switch Int.random(in: 0..<4, using: &chance) {
      case 0:
        await scene.simulation.drive { [life] in await life.destination.engine.die() }
        life = await scene.start(byApp: ["app": configuration])
      case 1:
        configuration.maxBatchEvents = Int.random(in: 1...100, using: &chance)
        let upstreams = Upstreams(usual: Scene.configuration(), byApp: ["app": configuration])
        await scene.simulation.drive { [life] in await life.destination.reconfigure(upstreams) }
      default: break
      }
    }
    taken.withLock { $0.isWell = true }
    for _ in 0..<100 {
      scene.simulation.advance(by: .seconds(10))
      scene.upstream.release()
    }
    #expect(life.status.pending.events == 0)
    #expect(life.ledger.isBalanced)
    let bad = (1...Self.count).filter(Self.isBad)
    #expect(taken.withLock { $0.numbers } == (1...Self.count).filter { !Self.isBad($0) })
    #expect(scene.deadLetterNumbers == bad)
  }

  private static func isBad(_ number: Int) -> Bool { number % 17 == 0 || number % 50 == 1 }

  private static func orderedReply(_ sent: FakeUpstream.Sent, _ taken: inout Taken) -> FakeUpstream.Reply? {
    if !taken.isWell {
      switch Int.random(in: 0..<14, using: &taken.chance) {
      case 0: return .noConnection
      case 1: return .status(503)
      case 2: return .status(429, "", [("retry-after", "1")])
      case 3 where sent.numbers.count > 1: return .status(413)
      case 4: return .held(500, "down")
      case 5: return .status(200, #"{"accepted":1,"rejected":0}"#)
      case 6: return .status(401)
      case 7: return .status(202)
      default: break
      }
    }
    return sent.numbers.contains(where: isBad) ? .status(400) : nil
  }
}
