import Clocks
import EventLog
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// Three upstreams of three protocols, each with troubles of its own, on the file log.
@Suite("Apps of three protocols on the file log")
struct ThreeProtocolsTests {
  private static let persons = 7
  private static let dialects: [String: UInt8] = ["ios": 0, "web": 101, "app": 102]
  private let scene = Scene()

  private struct Life {
    let log: FileLog
    let subscription: any Subscription
    let destination: UpstreamDestination
  }

  private func start() async throws -> Life {
    let log = try scene.openLog()
    let subscription = try log.subscribe("upstream", origin: .oldest)
    let own = ["web": OtherDialect.apart.configuration(), "app": OtherDialect.ordered.configuration()]
    let destination = await scene.start(over: subscription, Scene.configuration(linger: .seconds(1)), byApp: own)
    return Life(log: log, subscription: subscription, destination: destination)
  }

  private func kill(_ life: Life) async {
    await scene.simulation.drive { await life.destination.engine.die() }
    life.log.close()
  }

  /// What the upstreams keep and refuse, as a model.
  private final class Model: Sendable {
    private struct State {
      var generator: SeededGenerator
      var stored: [String: [Int]] = [:]
      var known: Set<Int> = []
    }
    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

    /// What no upstream takes, and what makes one fail now and then.
    static func isUnreadable(_ number: Int) -> Bool { number % 97 == 13 }
    static func isTroublesome(_ number: Int) -> Bool { number % 53 == 5 }

    func answer(_ sent: FakeUpstream.Sent) -> FakeUpstream.Reply {
      state.withLock { state in
        let dice = Int.random(in: 0..<20, using: &state.generator)
        switch dice {
        case 0: return .noConnection
        case 1: return .status(503)
        case 2: return .error(429, "rate_limited", retryAfter: "5")
        case 3 where sent.numbers.count > 3: return .error(413, "payload_too_large")
        case 4 where sent.key == "app": return .error(401, "unauthorized")
        case 5...16 where sent.numbers.contains(where: Self.isTroublesome) && sent.key == "web": return .status(500)
        default: break
        }
        if sent.numbers.contains(where: Self.isUnreadable) { return .error(400, "invalid_body") }
        for number in sent.numbers where state.known.insert(number).inserted {
          state.stored[sent.key, default: []].append(number)
        }
        // The answer gets lost now and then: the same events come again.
        return dice == 19 ? .noConnection : .accepted(sent)
      }
    }

    var stored: [String: [Int]] { state.withLock { $0.stored } }
  }

  @Test(
    "each one's events come in its protocol's order, none is lost or given up but the bad ones, and the books are right",
    arguments: 1...20 as ClosedRange<UInt64>)
  func property(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed &* 91)
    let model = Model(seed: seed)
    scene.upstream.answers { model.answer($0) }
    let apps = Self.dialects.keys.sorted()
    for app in apps { scene.keys.set(app, app) }
    var life = try await start()
    var accepted: [String: [Int]] = [:]
    var next = 0
    for _ in 0..<60 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0...1:
        await kill(life)
        life = try await start()
      case 2...5:
        let app = apps.randomElement(using: &generator)!
        let count = Int.random(in: 1...(app == "web" ? 12 : 60), using: &generator)
        accepted[app, default: []] += next..<next + count
        await scene.store(
          next..<next + count, app: app, installs: Self.persons, dialect: Self.dialects[app]!, in: life.log)
        next += count
      default:
        let most = [20, 1_100, 40_000].randomElement(using: &generator)!
        scene.simulation.advance(by: .milliseconds(Int.random(in: 0...most, using: &generator)))
      }
    }
    scene.simulation.advance(by: .seconds(1))
    let subscription = life.subscription
    scene.simulation.advance(atMost: .seconds(864_000)) { subscription.pending.events == 0 }
    scene.simulation.advance(by: .seconds(1))
    check(model, accepted)
    let dead = (0..<next).filter(Model.isUnreadable)
    #expect(scene.deadLetterNumbers.sorted() == dead)
    let ledger = subscription.ledger
    #expect(ledger.isBalanced && ledger.accepted == UInt64(next))
    #expect(ledger.settled == Tally([.refused: UInt64(dead.count), .delivered: UInt64(next - dead.count)]))
    await kill(life)
  }

  private func check(_ model: Model, _ accepted: [String: [Int]]) {
    for (app, dialect) in Self.dialects {
      let wanted = accepted[app, default: []].filter { !Model.isUnreadable($0) }
      let stored = model.stored[app, default: []]
      #expect(stored.sorted() == wanted, "\(app)")
      if dialect == 102 { #expect(stored == wanted, "the whole lane's order") }
      // (Poison hunting lets an install's later events overtake, by the first protocol's own table.)
      for person in 0..<Self.persons where dialect != 0 {
        #expect(
          stored.filter { $0 % Self.persons == person } == wanted.filter { $0 % Self.persons == person },
          "\(app), person \(person)")
      }
    }
    let moments = scene.upstream.sent.filter { $0.key == "web" }.map(\.at)
    for (first, last) in zip(moments, moments.dropFirst(100)) { #expect(last - first >= .seconds(60)) }
  }
}
