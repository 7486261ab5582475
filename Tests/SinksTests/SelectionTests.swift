import EventLog
import Glibc
import TestSupport
import Testing

@testable import Sinks

@Suite("What a sink's user wants of the events")
struct SelectionTests {
  @Test("alone is written; the rest is counted as filtered, file or no file")
  func filtered() {
    let bench = SinkBench()
    bench.common.apps = ["ios"]
    bench.common.kinds = [.event]
    bench.restart()
    for round in 0..<3 {
      bench.log.append("{}", app: "web", at: bench.time)
      bench.run()
      #expect(bench.files.isEmpty)
      #expect(bench.log.state.withLock { $0.committed } == round + 1)
    }
    bench.log.append("{}", app: "ios", at: bench.time)
    bench.log.append("{}", app: "ios", kind: .identify, at: bench.time)
    bench.log.append("{}", app: "ios", at: bench.time)
    bench.log.append("{}", app: "web", at: bench.time)
    bench.run()
    #expect(bench.allSequences == [4, 6])
    #expect(bench.log.state.withLock { $0.settled } == Tally([.delivered: 2, .filtered: 5]))
    #expect(bench.log.state.withLock { $0.committed } == 7)
  }

  @Test("is exact when a file ends in the middle of a batch", arguments: [1, 150, 400, 1000])
  func rotation(size: Int) {
    let bench = SinkBench(size: size)
    bench.common.apps = ["ios"]
    bench.restart()
    for number in 1...60 {
      bench.log.append("{}", app: number % 3 == 0 ? "ios" : "web", at: bench.time)
      if number % 17 == 0 { bench.run(settles: number % 2 == 0) }
      if number % 23 == 0 { bench.restart() }
    }
    bench.run()
    #expect(bench.allSequences == Array(stride(from: 3, through: 60, by: 3)))
    #expect(bench.log.state.withLock { $0.settled } == Tally([.delivered: 20, .filtered: 40]))
  }

  @Test("A sink too far behind loses its oldest, counted, whether it writes or not")
  func behind() {
    let bench = SinkBench(path: "d/all.ndjson")
    bench.common.maxBehind = 10
    bench.restart()
    let blocker = bench.directory.write("d", "a file where the directory should be")
    bench.add(30)
    bench.run()
    #expect(bench.worker.condition.failure != nil)
    // (The log in memory counts an event as one byte.)
    #expect(bench.log.state.withLock { $0.settled } == Tally([.droppedBehind: 20]))
    bench.add(5)
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.log.state.withLock { $0.settled } == Tally([.droppedBehind: 25]))
    bench.add(4)
    unlink(blocker)
    bench.now += .seconds(30)
    bench.run()
    #expect(bench.allSequences == Array(30...39))
    #expect(bench.log.state.withLock { $0.settled } == Tally([.delivered: 10, .droppedBehind: 29]))
  }
}
