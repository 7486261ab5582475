import Clocks
import Dialects
import EventLog
import EventsAPI
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import StandIn

@Suite("Pacing against the stand-in's limits, on a simulated clock")
final class PacedRunTests: Sendable {
  private let scene = Scene()
  /// The numbers that arrived, in their order.
  private let arrived = Mutex<(numbers: [Int], others: Int)>(([], 0))
  private static let installs = 200
  private static let total = 50_000

  private struct Request: IncomingRequest {
    let method = "POST"
    var path, key: String
    func header(_ name: StaticString) -> String? { "\(name)" == "X-Write-Key" ? key : nil }
  }

  /// The stand-in without its HTTP.
  private func standIn(_ limiter: LimiterKind) throws -> StandInCore {
    var configuration = StandInConfiguration()
    configuration.limiter = limiter
    configuration.clock = scene.simulation.wallClock
    let core = try StandInCore(configuration, logger: scene.logger)
    scene.upstream.answers { [self] sent in
      let numbers = sent.numbers
      arrived.withLock { arrived in
        arrived.numbers += numbers
        arrived.others += numbers.count { $0 % 2 == 1 }
      }
      let request = Request(path: "/v1/\(sent.route)", key: sent.key)
      guard let served = core[request.path] else { preconditionFailure("no route: \(sent.route)") }
      let answer = sent.body.withUnsafeBytes { core.answer(served, request, body: $0) }
      return .status(
        answer.status, String(decoding: answer.body, as: UTF8.self),
        answer.headers.map { ($0.name.lowercased(), $0.value) })
    }
    return core
  }

  /// Stores the events in requests of 100, every second event being the hot install's.
  private func store(in log: FileLog) async {
    for request in 0..<Self.total / 100 {
      var body: [UInt8] = []
      var drafts: [DraftEvent] = []
      for number in request * 100..<request * 100 + 100 {
        let install = number % 2 == 0 ? 0 : 1 + number / 2 % (Self.installs - 1)
        let text =
          #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number),"#
          + #""anonymous_id":"i\#(install)","occurred_at":"\#(scene.simulation.wallClock.now)"}"#
        drafts.append(
          DraftEvent(
            index: EventIndex(
              idHigh: 0, idLow: UInt64(number), installHash: UInt64(install + 1), userHash: 0, length: text.utf8.count,
              nameOffset: 0, occurredAtOffset: 0, occurredAt: scene.simulation.wallClock.now, flags: []),
            offset: body.count))
        body += text.utf8
        body.append(UInt8(ascii: ","))
      }
      let outcome = Fact<AppendOutcome?>(nil)
      body.withUnsafeBytes { body in
        drafts.withUnsafeBufferPointer { drafts in
          log.append(
            FrameDraft(
              app: "ios", kind: .event, receivedAt: scene.simulation.wallClock.now, body: body, events: drafts)
          ) { stored in outcome.change { $0 = stored } }
        }
      }
      _ = await outcome.wait { $0 != nil }
    }
  }

  @Test(
    "of 50,000 events half are one install's: no 429, the others at the key's full rate, the books exact",
    arguments: [LimiterKind.sliding, .fixed, .bucket])
  func hotInstall(limiter: LimiterKind) async throws {
    let core = try standIn(limiter)
    let log = try scene.openLog(segmentSize: 64 << 20)
    defer { log.close() }
    await store(in: log)
    let subscription = try log.subscribe("upstream", origin: .oldest)
    var configuration = Scene.paced(10_000, 300, margin: 0.05)
    configuration.concurrency = 8
    let destination = await scene.start(over: subscription, configuration)
    let began = scene.simulation.now
    // The other installs' 25,000 are through when no more than the hot one's are left, less what went of these.
    scene.simulation.advance(atMost: .seconds(3600)) {
      arrived.withLock { $0.others } == Self.total / 2
    }
    let took = (scene.simulation.now - began).seconds
    // 9,500 go at once, 9,500 in the second minute, what is left and 285 a minute of the hot install in the third.
    #expect(took < 130, "\(took) s")
    #expect(destination.status.lanes.first?.parkedInstalls == 1)
    #expect((destination.status.lanes.first?.drainsIn ?? .zero) > .seconds(3600))
    scene.simulation.advance(atMost: .seconds(3 * 3600)) { subscription.pending.events == 0 }
    #expect(subscription.ledger.settled == Tally(.delivered, Self.total))
    #expect(subscription.ledger.isBalanced)
    #expect(core.state.withLock { $0.statistics[0]?.rateLimited.isEmpty } == true)
    #expect(core.state.withLock { $0.account.summary.map(\.stored) } == [Self.total])
    // Each install's in order.
    var last: [Int: Int] = [:]
    for number in arrived.withLock({ $0.numbers }) {
      let install = number % 2 == 0 ? 0 : 1 + number / 2 % (Self.installs - 1)
      #expect(last[install, default: -1] < number)
      last[install] = number
    }
  }
}
