import EventLog
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

/// `EVENT_RELAY_SEED` runs one seed, `EVENT_RELAY_SEEDS` more of them than a test run has time for.
@Suite("A webhook through anything")
struct WebhookPropertyTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static var seeds: Range<UInt64> {
    if let seed = environment["EVENT_RELAY_SEED"].flatMap(UInt64.init) { return seed..<seed + 1 }
    return 0..<(environment["EVENT_RELAY_SEEDS"].flatMap(UInt64.init) ?? 150)
  }

  @Test("every event is delivered or a dead letter once, in order, and no id stands for two contents")
  func invariants() {
    for seed in Self.seeds {
      let run = Run(seed)
      for _ in 0..<60 { run.step() }
      run.end()
      #expect(run.faults == [], "seed \(seed)")
    }
  }

  private final class Run {
    let bench = WebhookBench()
    private var random: SeededGenerator
    /// Numbers of events that the receiver answered with 2xx.
    private var delivered: Set<Int> = []

    init(_ seed: UInt64) {
      random = SeededGenerator(seed: seed)
      bench.options.maxBatchEvents = Int.random(in: 1...5, using: &random)
      bench.options.retry = WebhookRetry(initial: .seconds(1), max: .seconds(8), giveUpAfter: .seconds(30))
      if Bool.random(using: &random) { bench.common.apps = ["ios"] }
      bench.restart()
    }

    func step() {
      switch Int.random(in: 0..<14, using: &random) {
      case 0...2: bench.add(Int.random(in: 1...20, using: &random), app: Bool.random(using: &random) ? "ios" : "web")
      case 3...5: answer([200, 200, 200, 204, 500, 503, 400, 422, 413, 429, 302, 410].randomElement(using: &random)!)
      case 6: for _ in 0..<Int.random(in: 1...8, using: &random) { answer(200) }
      case 7: _ = bench.fail(.timeout, "late")
      case 8:
        if Bool.random(using: &random) { bench.worker.finish() }
        if Bool.random(using: &random) { bench.options.maxBatchEvents = Int.random(in: 1...5, using: &random) }
        bench.restart()
      case 9: bench.log.state.withLock { $0.failsCommit.toggle() }
      case 10: bench.log.state.withLock { $0.failsRead.toggle() }
      case 11:
        bench.faults[[.write, .sync, .create].randomElement(using: &random)!] = Bool.random(using: &random) ? EIO : 0
      case 12: bench.failsCommitAfterSync.isSet.toggle()
      default: bench.pass(.milliseconds(Int.random(in: 1...5000, using: &random)))
      }
      if Bool.random(using: &random) { bench.worker.reloaded() }
      bench.run(settles: Bool.random(using: &random))
    }

    private func answer(_ status: Int) {
      if bench.receiver.isWaiting, (200...299).contains(status) {
        delivered.formUnion(bench.receiver.requests.last?.numbers ?? [])
      }
      bench.answer(status)
    }

    /// All works again, and the receiver takes everything.
    func end() {
      bench.faults.clear()
      bench.failsCommitAfterSync.isSet = false
      bench.log.state.withLock { ($0.failsCommit, $0.failsRead) = (false, false) }
      for _ in 0..<500 {
        bench.worker.reloaded()
        bench.run(settles: true)
        if bench.receiver.isWaiting { answer(200) } else { bench.pass(.seconds(60)) }
        if bench.committed == bench.log.count { break }
      }
    }

    var faults: [String] {
      var faults: [String] = []
      let events = bench.log.state.withLock { $0.events }
      let wanted = Set(events.filter { bench.common.apps.isEmpty || $0.app == "ios" }.map { Int($0.event.sequence) })
      let letters = bench.deadLetters.map { $0["seq"]?.integer() ?? -1 }
      let settled = bench.settled
      if bench.committed != events.count { faults.append("\(bench.committed) of \(events.count) are settled") }
      if settled[.filtered] != UInt64(events.count - wanted.count) { faults.append("\(settled) and \(wanted.count)") }
      if Set(letters).count != letters.count { faults.append("dead letters twice: \(letters)") }
      let buried = settled.counts.reduce(0) { $0 + ($1.key.isDeadLetter ? $1.value : 0) }
      if buried != UInt64(letters.count) { faults.append("\(letters.count) dead letters, and the books say \(buried)") }
      if delivered.union(letters) != wanted {
        faults.append("missing: \(wanted.subtracting(delivered).subtracting(letters))")
      }
      let requests = bench.receiver.requests
      let bodies = Dictionary(grouping: requests, by: \.id)
      if bodies.values.contains(where: { Set($0.map(\.body)).count > 1 }) { faults.append("an id with two contents") }
      var seen = 0
      for request in requests {
        guard let first = request.numbers.first, let last = request.numbers.last else { continue }
        if last > seen, first <= seen, bodies[request.id]?.count == 1 {
          faults.append("other bounds: \(request.numbers)")
        }
        seen = max(seen, last)
      }
      return faults
    }
  }

}
