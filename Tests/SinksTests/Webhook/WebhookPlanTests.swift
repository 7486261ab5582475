import EventLog
import Testing

@testable import Sinks

@Suite("A webhook's plan")
struct WebhookPlanTests {
  private let bench = WebhookBench()
  private var commits: Int { bench.log.state.withLock { $0.commits } }

  @Test("lets full batches go out without a commit each, and has what is delivered on record soon")
  func commitsSeldom() {
    bench.add(30)
    bench.run()
    for _ in 0..<9 { bench.answer(200, after: .milliseconds(1)) }
    #expect(bench.receiver.requests.count == 10)
    #expect(commits == 1 && bench.committed == 0)
    bench.answer(200, after: WebhookWorker.commitInterval)
    #expect(commits == 2 && bench.committed == 27)
    bench.pass(WebhookWorker.commitInterval)
    bench.run()
    #expect(commits == 3 && bench.committed == 30)
  }

  @Test("doesn't let what is delivered wait for a receiver that hangs")
  func hangingReceiver() {
    bench.add(6)
    bench.run()
    let next = bench.answer(200, after: .milliseconds(1))
    #expect(bench.receiver.isWaiting && bench.committed == 0)
    // The batch under way is not answered for a long time.
    guard case .busy(let moment) = next else { return #expect(Bool(false), "\(next)") }
    #expect(moment <= bench.now + WebhookWorker.commitInterval)
    bench.pass(moment - bench.now)
    #expect(bench.run() != .again)
    #expect(bench.committed == 3 && bench.receiver.isWaiting)
  }

  @Test("has the same bytes sent again under the same id after a crash, wherever it comes")
  func crashes() {
    for delivered in 0...12 {
      let bench = WebhookBench()
      bench.add(40)
      bench.run()
      for _ in 0..<delivered { bench.answer(200, after: .milliseconds(30)) }
      bench.pass(.seconds(3600))
      bench.options.maxBatchEvents = 5
      bench.restart()
      bench.run()
      let again = bench.receiver.requests.last
      let before = bench.receiver.requests.dropLast().filter { $0.id == again?.id }
      #expect(before.count == 1 && before.first?.body == again?.body, "\(delivered) delivered")
      for _ in 0..<20 { bench.answer(200) }
      #expect(bench.committed == 40)
      // Whatever was sent before the crash and after it again, is the same.
      let sent = bench.receiver.requests
      for (earlier, request) in sent.enumerated() {
        for later in sent[(earlier + 1)...] where !Set(later.numbers).isDisjoint(with: request.numbers) {
          #expect(later.id == request.id, "\(delivered) delivered: \(request.numbers), then \(later.numbers)")
        }
      }
    }
  }

  @Test("ends with a clean stop: what comes next has the moment it was put together at")
  func cleanStop() {
    bench.add(6)
    bench.run()
    bench.worker.finish()
    bench.pass(.seconds(3600))
    bench.restart()
    bench.run()
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3], [1, 2, 3]])
    #expect(Set(bench.receiver.requests.map(\.id)).count == 1)
    bench.answer(200)
    let body = bench.receiver.requests.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body?.contains(#""timestamp":"2026-10-23T13:04:31"#) == true)
  }

  @Test("is made anew when it is a second old: the moment in a body is never far behind")
  func staleness() {
    bench.add(6)
    bench.run()
    bench.answer(200, after: WebhookPlan.freshFor)
    let bodies = bench.receiver.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.last?.contains(#""timestamp":"2026-10-23T12:04:32.512Z""#) == true)
  }

  @Test("says nothing of a batch that is not full, or that goes beyond it")
  func cover() {
    let plan = WebhookPlan(after: 100, eventsMax: 10, at: .init(milliseconds: 1000))
    #expect(plan.through == 300)
    #expect(plan.covers(291...300, count: 10) && !plan.covers(292...301, count: 10))
    #expect(!plan.covers(101...109, count: 9))
    #expect(plan.isFresh(at: .init(milliseconds: 1000)) && plan.isFresh(at: .init(milliseconds: 1999)))
    #expect(!plan.isFresh(at: .init(milliseconds: 2000)) && !plan.isFresh(at: .init(milliseconds: 999)))
  }
}
