import Clocks
import EventLog
import JSON
import Records
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("The upstream's destination on the file log")
struct FileLogDeliveryTests {
  private let scene = Scene()

  /// Whose events they are, by turns.
  private static let installs = 7

  private struct Life {
    let log: FileLog
    let subscription: any Subscription
    let destination: UpstreamDestination
  }

  private func start(_ configuration: UpstreamConfiguration = Scene.configuration()) async throws -> Life {
    let log = try scene.openLog()
    let subscription = try log.subscribe("upstream", origin: .oldest)
    let destination = await scene.start(over: subscription, configuration)
    return Life(log: log, subscription: subscription, destination: destination)
  }

  private func kill(_ life: Life) async {
    await scene.simulation.drive { await life.destination.engine.die() }
    life.log.close()
  }

  private func store(_ numbers: some Sequence<Int>, app: String, in life: Life) async {
    await scene.store(numbers, app: app, installs: Self.installs, in: life.log)
  }

  @Test("delivers what is stored, byte by byte and in order, over a restart")
  func delivers() async throws {
    let first = try await start()
    scene.upstream.answers { _ in .noConnection }
    for request in 0..<10 { await store(request * 30..<request * 30 + 30, app: "ios", in: first) }
    await scene.simulation.settle { !scene.upstream.sent.isEmpty }
    await kill(first)
    let before = scene.upstream.sent.count
    scene.upstream.answers { .accepted($0) }
    let second = try await start()
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.dropFirst(before).flatMap(\.numbers) == Array(0..<300))
    #expect(scene.upstream.sent.dropFirst(before).map(\.numbers.count) == [100, 100, 100])
    #expect(second.subscription.ledger.settled == Tally([.delivered: 300]))
    #expect(second.subscription.ledger.isBalanced)
    second.log.close()
  }

  /// What the upstream keeps and refuses, as a model.
  private final class Model: Sendable {
    private let state: Mutex<(generator: SeededGenerator, stored: [String: [Int]], known: Set<Int>)>

    init(seed: UInt64) { state = Mutex((SeededGenerator(seed: seed), [:], [])) }

    /// Numbers that the upstream never takes: as a rejected event, and as what makes a batch unreadable.
    static func isRejected(_ number: Int) -> Bool { number % 41 == 7 }
    static func isUnreadable(_ number: Int) -> Bool { number % 97 == 13 }

    func answer(_ sent: FakeUpstream.Sent) -> FakeUpstream.Reply {
      state.withLock { state in
        switch Int.random(in: 0..<20, using: &state.generator) {
        case 0: return .noConnection
        case 1: return .status(503)
        case 2: return .error(429, "rate_limited", retryAfter: "5")
        case 3: return .status(200, "<html>portal</html>")
        case 4 where sent.numbers.count > 3: return .error(413, "payload_too_large")
        default: break
        }
        if sent.numbers.contains(where: Self.isUnreadable) { return .error(400, "invalid_body") }
        var rejected: [String] = []
        for (at, number) in sent.numbers.enumerated() {
          if Self.isRejected(number) {
            rejected.append(#"{"index":\#(at),"event_id":null,"code":"invalid_name","message":"no"}"#)
          } else if state.known.insert(number).inserted {
            state.stored[sent.key, default: []].append(number)
          }
        }
        // The answer gets lost now and then: the same events come again.
        if Int.random(in: 0..<15, using: &state.generator) == 0 { return .noConnection }
        return .status(
          200,
          #"{"accepted":\#(sent.numbers.count - rejected.count),"rejected":[\#(rejected.joined(separator: ","))],"clamped":[]}"#
        )
      }
    }

    var stored: [String: [Int]] { state.withLock { $0.stored } }
  }

  @Test(
    "through any run of outages, refusals and crashes each event ends up upstream in order, or in the dead letters once",
    arguments: 1...25 as ClosedRange<UInt64>)
  func property(seed: UInt64) async throws {
    var configuration = Scene.configuration(linger: .seconds(1))
    // By turns: one request at a time; several; paced too.
    configuration.concurrency = seed % 3 == 0 ? 1 : 8
    if seed % 3 == 2 { configuration.rateLimit = RateLimit(events: 600, eventsPerInstall: 60) }
    var generator = SeededGenerator(seed: seed &* 77)
    let model = Model(seed: seed)
    scene.upstream.answers { model.answer($0) }
    let apps = ["ios", "android", "web"]
    for app in apps { scene.keys.set(app, app) }
    var life = try await start(configuration)
    var accepted: [String: [Int]] = [:]
    var next = 0
    for _ in 0..<80 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0...1:
        await kill(life)
        life = try await start(configuration)
      case 2...5:
        let app = apps.randomElement(using: &generator)!
        let count = Int.random(in: 1...60, using: &generator)
        accepted[app, default: []] += next..<next + count
        await store(next..<next + count, app: app, in: life)
        next += count
      default:
        // Now to the next event or so, now through whole delays.
        let most = [20, 1_100, 40_000].randomElement(using: &generator)!
        scene.simulation.advance(by: .milliseconds(Int.random(in: 0...most, using: &generator)))
      }
    }
    scene.simulation.advance(by: .seconds(1))
    let subscription = life.subscription
    scene.simulation.advance(atMost: .seconds(864_000)) { subscription.pending.events == 0 }
    scene.simulation.advance(by: .seconds(1))
    let dead = Set(0..<next).filter { Model.isRejected($0) || Model.isUnreadable($0) }
    for app in apps {
      let (stored, wanted) = (
        model.stored[app, default: []], accepted[app, default: []].filter { !dead.contains($0) }
      )
      #expect(stored.sorted() == wanted, "\(app)")
      for install in 0..<Self.installs {
        let isOf: (Int) -> Bool = { $0 % Self.installs == install }
        let (one, other): ([Int], [Int]) = (stored.filter(isOf), wanted.filter(isOf))
        #expect(one == other, "\(app), install \(install)")
      }
    }
    #expect(scene.deadLetterNumbers.sorted() == dead.sorted())
    let ledger = subscription.ledger
    #expect(ledger.isBalanced)
    #expect(ledger.accepted == UInt64(next))
    #expect(ledger.deadLettered == UInt64(dead.count))
    #expect(ledger.settled[.delivered] == UInt64(next - dead.count))
    await kill(life)
  }
}
