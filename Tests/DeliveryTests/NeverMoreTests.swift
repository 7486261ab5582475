import Clocks
import EventLog
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("The limits in any 60 seconds")
final class NeverMoreTests: Sendable {
  private let scene = Scene()
  private static let installs = 5
  private static let limit = RateLimit(events: 200, eventsPerInstall: 40, margin: 0.1)

  /// What reached the upstream: when, with which key, and how many events of each install.
  private let arrived = Mutex<[(at: ContinuousClock.Instant, key: String, numbers: [Int])]>([])

  /// What the upstream has been sent and will count only when it answers.
  private let held = Mutex<[(key: String, numbers: [Int])]>([])

  /// Answers at random; what the upstream may have counted is noted.
  private func answer(_ seed: UInt64) {
    let generator = Mutex(SeededGenerator(seed: seed))
    scene.upstream.answers { [self] sent in
      let roll = generator.withLock { Int.random(in: 0..<12, using: &$0) }
      if roll == 0 { return .noConnection }
      if roll == 3 {
        held.withLock { $0.append((sent.key, sent.numbers)) }
        return .hold
      }
      arrived.withLock { $0.append((sent.at, sent.key, sent.numbers)) }
      return switch roll {
      case 1: .failure(TransportFailure(kind: .timeout, description: ""))
      case 2: .status(503)
      default: .accepted(sent)
      }
    }
  }

  /// Has the upstream count what it held, now, and answer it.
  private func release() {
    let counted = held.withLock { held in
      defer { held = [] }
      return held
    }
    let now = scene.simulation.now
    arrived.withLock { $0 += counted.map { (now, $0.key, $0.numbers) } }
    scene.upstream.release()
  }

  private func most(_ key: String, where isOf: (Int) -> Bool) -> Int {
    let sent = arrived.withLock { $0 }.filter { $0.key == key }.map { ($0.at, $0.numbers.count(where: isOf)) }
    return sent.indices.map { first in
      sent[first...].prefix { $0.0 - sent[first].0 < .seconds(60) }.reduce(0) { $0 + $1.1 }
    }.max() ?? 0
  }

  private func end(_ life: Scene.Life, isCrash: Bool) async {
    if isCrash {
      await scene.simulation.drive { await life.destination.engine.die() }
      release()
      scene.simulation.settle()
    } else {
      release()
      scene.simulation.settle()
      await scene.simulation.drive { [scene] in await life.destination.stop(until: scene.simulation.now) }
    }
  }

  @Test(
    "are never passed, by no key and no install, through crashes, stops, lost answers and reloads",
    arguments: 1...100 as ClosedRange<UInt64>)
  func property(seed: UInt64) async throws {
    var configuration = Scene.configuration()
    configuration.rateLimit = Self.limit
    configuration.concurrency = seed % 2 == 0 ? 1 : 8
    var generator = SeededGenerator(seed: seed &* 91)
    answer(seed)
    // Two apps share a key.
    let keys = ["ios": "aso_wk_one", "android": "aso_wk_one", "web": "aso_wk_two"]
    for (app, key) in keys { scene.keys.set(app, key) }
    let apps = keys.keys.sorted()
    var life = await scene.start(configuration)
    var next = 0
    for _ in 0..<120 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        await end(life, isCrash: Bool.random(using: &generator))
        scene.simulation.advance(by: .milliseconds(Int.random(in: 0...90_000, using: &generator)))
        life = await scene.start(configuration)
      case 1:
        // What isn't about limits changes; lanes are looked at anew.
        configuration.concurrency = Int.random(in: 1...8, using: &generator)
        configuration.order = configuration.order == .arrival ? .oldestFirst : .arrival
        await scene.reconfigure(life, configuration)
      case 2...5:
        let count = Int.random(in: 1...80, using: &generator)
        let app = try #require(apps.randomElement(using: &generator))
        for number in next..<next + count { scene.store([number], app: app, install: UInt64(number % Self.installs)) }
        next += count
        life.subscription.progress()
      default:
        let most = try #require([20, 1_100, 40_000].randomElement(using: &generator))
        scene.simulation.advance(by: .milliseconds(Int.random(in: 0...most, using: &generator)))
        release()
      }
      scene.simulation.settle()
    }
    // And all of it gets there.
    scene.upstream.answers { [self] sent in
      arrived.withLock { $0.append((sent.at, sent.key, sent.numbers)) }
      return .accepted(sent)
    }
    release()
    scene.simulation.advance(atMost: .seconds(864_000)) { [life] in life.subscription.pending.events == 0 }
    // (An event that met only faults while others passed may be taken for poison.)
    #expect(life.ledger.settled[.delivered] + life.ledger.settled[.poison] == UInt64(next))
    for key in Set(keys.values) {
      #expect(most(key) { _ in true } <= Self.limit.keyMax ?? 0, "\(key)")
      for install in 0..<Self.installs {
        #expect(most(key) { $0 % Self.installs == install } <= Self.limit.installMax ?? 0, "\(key), install \(install)")
      }
    }
  }
}
