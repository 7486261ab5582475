import Clocks
import Configuration
import EventLog
import Foundation
import JSON
import TestSupport
import Testing

@testable import Sinks

@Suite("A webhook's worker")
struct WebhookWorkerTests {
  private let bench = WebhookBench()

  @Test("sends batches in order, one at a time, and acknowledges what is delivered")
  func inOrder() throws {
    bench.add(7)
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3]])
    #expect(bench.committed == 0)
    bench.answer(200)
    bench.answer(204, "whatever")
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3], [4, 5, 6], [7]])
    #expect(bench.committed == 6)
    bench.answer(200)
    #expect(!bench.receiver.isWaiting)
    #expect(bench.committed == 7 && bench.settled == Tally([.delivered: 7]))
    #expect(bench.attempts(.delivered) == 3)
    #expect(Set(bench.receiver.requests.map(\.id)).count == 3)
    #expect(bench.worker.condition == SinkCondition())
  }

  @Test("sends what the receiver needs to verify it, and the user's headers")
  func headers() throws {
    bench.options.secrets = [try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    bench.options.headers = [WebhookHeader(name: "Authorization", value: .init("Bearer hunter2"))]
    bench.restart()
    bench.add()
    bench.run()
    let request = try #require(bench.receiver.requests.last)
    #expect(request.url == "https://example.com/hook?token=hunter2")
    #expect(request.header("content-type") == "application/json")
    #expect(request.header("authorization") == "Bearer hunter2")
    #expect(request.header("webhook-timestamp") == "1792757071")
    let again = request.body.withUnsafeBytes {
      WebhookSignature.headers(id: request.id, moment: bench.wall.now, body: $0, secrets: bench.options.secrets)
    }
    #expect(request.headers.suffix(3) == again[...])
    let body = try JSONValue(parsing: request.body)
    #expect(body.members?.map(\.key) == ["type", "timestamp", "data"])
    #expect(body["type"]?.string == "events.batch")
    #expect(body["timestamp"]?.string == "2026-10-23T12:04:31.512Z")
  }

  @Test("waits for a batch to fill as long as it lingers, and no longer; a flush doesn't wait")
  func linger() {
    bench.options.linger = .seconds(10)
    bench.restart()
    bench.add()
    #expect(bench.run() == .wait(until: bench.now + .seconds(10)))
    bench.pass(.seconds(4))
    bench.add()
    #expect(bench.run() == .wait(until: bench.now + .seconds(6)))
    #expect(bench.receiver.requests.isEmpty)
    bench.pass(.seconds(6))
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2]])
    bench.answer(200)
    // What has waited in the log already isn't kept waiting again.
    bench.add()
    bench.wall.pass(.seconds(3))
    #expect(bench.run() == .wait(until: bench.now + .seconds(7)))
    bench.run(settles: true)
    #expect(bench.receiver.requests.last?.numbers == [3])
    bench.answer(200)
    bench.add(3)
    bench.run()
    #expect(bench.receiver.requests.last?.numbers == [4, 5, 6])
  }

  @Test("sends the same bytes under the same id until they are taken, each time signed anew")
  func retries() throws {
    bench.options.secrets = [try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    bench.restart()
    bench.add(2)
    bench.run()
    #expect(bench.answer(503) == .rest(until: bench.now + .seconds(1)))
    #expect(bench.worker.condition.state == .waiting)
    #expect(bench.worker.condition.retryAt == bench.wall.now + .seconds(5))
    bench.passDelay()
    // Events that came meanwhile are for the next batch.
    bench.add(2)
    bench.run()
    _ = bench.fail(.timeout, "no answer in time")
    #expect(bench.worker.condition.failure?.contains("no answer in time") == true)
    bench.passDelay()
    bench.run()
    let requests = bench.receiver.requests
    #expect(requests.count == 3)
    #expect(Set(requests.map(\.id)).count == 1 && Set(requests.map(\.body)).count == 1)
    #expect(requests.map { $0.header("webhook-timestamp") } == ["1792757071", "1792757076", "1792757086"])
    #expect(Set(requests.map { $0.header("webhook-signature") }).count == 3)
    bench.answer(200)
    #expect(bench.receiver.requests.last?.numbers == [3, 4])
    #expect(bench.worker.condition.state == nil && bench.worker.condition.failure == nil)
    #expect(bench.worker.condition.lastError?.contains("no answer in time") == true)
    #expect(bench.attempts(.network) == 1 && bench.attempts(.serverError) == 1)
  }

  @Test("sends the same bytes under the same id after a crash, whatever came meanwhile", arguments: [false, true])
  func crash(hasFailed: Bool) {
    bench.add(5)
    bench.run()
    bench.answer(200)
    // The second batch is under way, and not full.
    if hasFailed { bench.answer(500) }
    bench.restart()
    bench.add(5)
    bench.pass(.seconds(60))
    bench.run()
    let requests = bench.receiver.requests
    #expect(requests.map(\.numbers) == [[1, 2, 3], [4, 5], [4, 5]])
    #expect(requests[1].id == requests[2].id && requests[1].body == requests[2].body)
    bench.answer(200)
    #expect(bench.receiver.requests.last?.numbers == [6, 7, 8])
    // A crash after the answer and before the commit: once more, under the same id.
    bench.log.state.withLock { $0.failsCommit = true }
    bench.answer(200)
    bench.log.state.withLock { $0.failsCommit = false }
    bench.restart()
    bench.run()
    #expect(bench.receiver.requests.suffix(2).map(\.numbers) == [[6, 7, 8], [6, 7, 8]])
    #expect(Set(bench.receiver.requests.suffix(2).map(\.id)).count == 1)
  }

  @Test("waits out a delay over a restart")
  func delayOverRestart() {
    bench.add(1)
    bench.run()
    bench.answer(503, headers: [("retry-after", "100")])
    bench.pass(.seconds(40))
    bench.restart()
    #expect(bench.run() == .rest(until: bench.now + .seconds(1)))
    #expect(bench.worker.condition.state == .waiting)
    #expect(bench.worker.state.mayAttempt(at: bench.now) == bench.now + .seconds(60))
    bench.passDelay()
    bench.run()
    #expect(bench.receiver.requests.count == 2)
  }

  @Test("never gives two contents one id: another filter after a crash makes another batch")
  func otherFilter() {
    for _ in 0..<2 {
      bench.add(1, app: "web")
      bench.add(1, app: "ios")
    }
    bench.common.apps = ["ios"]
    bench.restart()
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[2, 4]])
    bench.common.apps = []
    bench.restart()
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[2, 4], [1, 2, 3]])
    #expect(Set(bench.receiver.requests.map(\.id)).count == 2)
    bench.answer(200)
    bench.answer(200)
    #expect(bench.settled == Tally([.delivered: 4]))
  }

  @Test("fills batches with what is wanted, however sparse, and counts the rest as filtered")
  func sparse() {
    bench.common.apps = ["ios"]
    bench.restart()
    for number in 1...1000 { bench.add(1, app: number % 100 == 0 ? "ios" : "web") }
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[100, 200, 300]])
    for _ in 0..<4 { bench.answer(200) }
    #expect(bench.receiver.requests.map(\.numbers).last == [1000])
    #expect(bench.settled == Tally([.delivered: 10, .filtered: 990]))
    bench.add(500, app: "web")
    bench.run()
    bench.pass(WebhookWorker.commitInterval)
    bench.run()
    #expect(bench.committed == 1500)
  }

  @Test("keeps bodies within a mebibyte, and sends a larger event alone")
  func bytes() {
    bench.options.maxBatchEvents = 1000
    bench.restart()
    for size in [400_000, 400_000, 400_000, 1_040_000, 1_048_500, 10, 600_000, 600_000] {
      bench.add(1, #"{"a":""# + String(repeating: "x", count: size) + #""}"#)
    }
    bench.run()
    while bench.receiver.isWaiting { bench.answer(200) }
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2], [3], [4], [5], [6, 7], [8]])
    #expect(bench.receiver.requests.filter { $0.body.count > 1 << 20 }.map(\.numbers) == [[5]])
    #expect(bench.settled == Tally([.delivered: 8]))
  }

  @Test("stops at a 410, says so, and goes on when the configuration is read again")
  func gone() {
    bench.add(1)
    bench.run()
    bench.answer(410)
    bench.pass(.seconds(86_400))
    bench.run(settles: true)
    #expect(bench.receiver.requests.count == 1)
    #expect(bench.worker.condition.state == .gone)
    #expect(bench.worker.condition.failure?.contains("reload") == true)
    #expect(bench.worker.condition.retryAt == nil)
    bench.worker.reloaded()
    bench.run()
    #expect(bench.receiver.requests.count == 2)
    #expect(Set(bench.receiver.requests.map(\.id)).count == 1)
    bench.answer(200)
    #expect(bench.settled == Tally([.delivered: 1]) && bench.worker.condition.state == nil)
  }

  @Test("loses its oldest when it is too far behind, even while it waits, and sends the rest")
  func behind() {
    bench.common.maxBehind = 10
    bench.options.hasUsualMaxBehind = false
    bench.restart()
    bench.add(5)
    bench.run()
    bench.answer(500)
    bench.add(20)
    bench.run()
    #expect(bench.settled[.droppedBehind] > 0)
    bench.passDelay()
    bench.run()
    #expect(bench.receiver.requests.last!.id != bench.receiver.requests.first!.id)
    while bench.receiver.isWaiting { bench.answer(200) }
    #expect(bench.settled.total == 25)
    #expect(bench.receiver.requests.last?.numbers.last == 25)
  }

  @Test("pauses when its position or the log fails, says so, and goes on without a gap")
  func localFailures() {
    bench.add(4)
    bench.log.state.withLock { $0.failsCommit = true }
    #expect(bench.run() == .rest(until: bench.now + .seconds(1)))
    #expect(bench.receiver.requests.isEmpty, "nothing is sent whose events aren't on record")
    #expect(bench.worker.condition.state == .failing)
    bench.log.state.withLock { $0.failsCommit = false }
    bench.pass(.seconds(1))
    bench.run()
    bench.log.state.withLock { $0.failsRead = true }
    bench.answer(200)
    #expect(bench.worker.condition.failure?.contains("log") == true)
    bench.log.state.withLock { $0.failsRead = false }
    bench.pass(.seconds(1))
    bench.run()
    bench.answer(200)
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3], [4]])
    #expect(bench.worker.condition.failure == nil && bench.settled == Tally([.delivered: 4]))
  }

  @Test("refuses the record of a newer program, and sends nothing")
  func newer() {
    bench.log.state.withLock { $0.attachment = ["version": 2] }
    bench.add(1)
    bench.run()
    #expect(bench.receiver.requests.isEmpty)
    #expect(bench.worker.condition.failure?.contains("version 2") == true)
  }

  @Test("takes an answer that came before the end, and breaks off what is under way")
  func finish() {
    bench.add(4)
    bench.run()
    bench.receiver.answer(.success(.init(status: 200)))
    bench.worker.finish()
    #expect(bench.committed == 3)
    bench.restart()
    bench.run()
    bench.worker.finish()
    #expect(!bench.receiver.isWaiting)
    bench.restart()
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3], [4], [4]])
    #expect(Set(bench.receiver.requests.map(\.id)).count == 2)
  }
}
