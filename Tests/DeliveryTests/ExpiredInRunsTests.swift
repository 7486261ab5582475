import Clocks
import EventLog
import Foundation
import Records
import Synchronization
import Testing

@testable import Delivery

@Suite("Events that grow too old while they are held")
struct ExpiredInRunsTests {
  /// A disk that takes no dead letter while it is full.
  private final class Disk: Sendable {
    private let fault = Mutex<Int32>(0)
    func fill() { fault.withLock { $0 = ENOSPC } }
    func free() { fault.withLock { $0 = 0 } }
    var system: FileSystem {
      FileSystem { operation, _ in operation == .write ? self.fault.withLock { $0 } : 0 }
    }
  }

  private let scene = Scene()
  private let disk = Disk()

  private func deadLettering(_ install: Int = 0) -> UpstreamConfiguration {
    var configuration = Scene.configuration()
    configuration.onExpired = .deadLetter
    configuration.rateLimit = RateLimit(events: 0, eventsPerInstall: install, margin: 0)
    return configuration
  }

  /// Stores an event that is 7 days old after so long.
  private func store(_ number: Int, expiresAfter left: Duration, install: UInt64 = 7) {
    scene.log.append(
      #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number)}"#,
      receivedAt: scene.simulation.wallClock.now, install: install,
      occurredAt: scene.simulation.wallClock.now - .seconds(7 * 86_400) + left)
  }

  @Test("are not acknowledged with the parked events beside them when the disk takes no dead letters")
  func middleOfRun() async {
    scene.store(1...4, install: 7)
    store(5, expiresAfter: .seconds(30))
    scene.store([6], install: 7)
    let life = await scene.start(deadLettering(3), system: disk.system)
    disk.fill()
    scene.simulation.advance(by: .seconds(120))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2, 3], [4, 6]])
    #expect(life.ledger.settled == Tally(.delivered, 5))
    #expect(life.status.pending.events == 1 && life.ledger.isBalanced)
    disk.free()
    scene.simulation.advance(by: .seconds(1200))
    #expect(life.ledger.settled == Tally([.delivered: 5, .expired: 1]))
    #expect(scene.deadLetterNumbers == [5])
  }

  @Test("leave a held lane's wait and its reason as they are when the disk takes no dead letters")
  func heldLane() async {
    scene.store(1...300)
    for number in 301...350 { store(number, expiresAfter: .seconds(1000), install: 0) }
    scene.upstream.answers { _ in .error(403, "quota_exceeded") }
    let start = scene.simulation.wallClock.now
    let life = await scene.start(deadLettering(), system: disk.system)
    let before = life.status
    #expect(before.state == .refused && before.retryAt == start + .seconds(3600))
    disk.fill()
    scene.simulation.advance(by: .seconds(1300))
    // Whoever comes has the lane looked at anew.
    scene.store([351])
    life.subscription.progress()
    scene.simulation.settle()
    let after = life.status
    #expect(after.state == .refused && after.retryAt == before.retryAt && after.detail == before.detail)
    #expect(after.lastError?.contains("Dead letters can't be written") == true)
    #expect(after.pending.events == 51)
    disk.free()
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally([.refused: 300, .expired: 50]))
    #expect(scene.upstream.sent.count == 3 && life.status.retryAt == before.retryAt)
  }

  @Test("are given up when they are under suspicion too")
  func suspect() async {
    store(1, expiresAfter: .seconds(300))
    scene.upstream.answers { $0.numbers.contains(1) ? .status(500) : .accepted($0) }
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(299))
    let before = scene.upstream.sent.count
    #expect(life.ledger.settled == Tally())
    // Its next try would come before the lanes that are held are looked through.
    scene.simulation.advance(by: .seconds(200))
    #expect(scene.upstream.sent.count == before)
    #expect(life.ledger.settled == Tally(.expired, 1))
    #expect(scene.deadLetterNumbers == [1] && scene.deadLetters.first?.attempts == before)
  }
}
