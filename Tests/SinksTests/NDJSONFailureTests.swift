import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A sink of line files that can't write")
struct NDJSONFailureTests {
  @Test("says why, waits longer each time up to 30 s, and goes on by itself")
  func backoff() throws {
    let bench = SinkBench(path: "d/all.ndjson")
    let blocker = bench.directory.write("d", "a file where the directory should be")
    bench.add(2)
    var delays: [Duration] = []
    for _ in 0..<7 {
      guard case .rest(let moment) = bench.run() else { continue }
      delays.append(moment - bench.now)
      bench.now = moment
    }
    #expect(delays == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    let failure = try #require(bench.worker.condition.failure)
    #expect(failure.contains("Not a directory"))
    #expect(failure.contains(bench.directory.file("d")))
    #expect(bench.worker.condition.retryAt != nil)
    unlink(blocker)
    bench.run()
    #expect(bench.worker.condition.failure == nil)
    #expect(bench.worker.condition.lastError == failure)
    #expect(bench.sequences("d/all.ndjson") == [1, 2])
  }

  @Test(
    "loses nothing and repeats nothing",
    arguments: [
      (FileError.Operation.write, ENOSPC), (.sync, EIO), (.create, EACCES), (.syncDirectory, EIO), (.open, EMFILE),
      (.inspect, EIO), (.makeDirectory, EROFS),
    ])
  func exact(operation: FileError.Operation, code: Int32) {
    let bench = SinkBench(every: .seconds(60))
    bench.add(3)
    bench.run()
    bench.add(3)
    bench.run(settles: false)
    bench.faults[operation] = code
    bench.add(3, at: bench.time + .seconds(3600))
    bench.run()
    bench.now += .seconds(60)
    bench.run()
    bench.faults.clear()
    bench.now += .seconds(60)
    bench.run()
    #expect(bench.isExact)
    #expect(bench.worker.condition.failure == nil)
  }

  @Test("doesn't trust a file whose sync failed: cuts it back and begins another")
  func failedSync() {
    let bench = SinkBench(path: "all.ndjson")
    bench.add(2)
    bench.run()
    bench.add(2)
    bench.faults[.sync] = EIO
    bench.run()
    #expect(bench.worker.condition.failure?.contains("Input/output error") == true)
    bench.faults.clear()
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.sequences("all.ndjson") == [1, 2])
    #expect(bench.sequences("all.1.ndjson") == [3, 4])
  }

  @Test("has not recovered while writes work and syncs fail")
  func syncKeepsFailing() {
    let bench = SinkBench()
    bench.faults[.sync] = EIO
    bench.add()
    var delays: [Duration] = []
    for _ in 0..<3 {
      guard case .rest(let moment) = bench.run() else { continue }
      delays.append(moment - bench.now)
      bench.now = moment
      #expect(bench.worker.condition.failure != nil)
    }
    #expect(delays == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test("pauses while the disk has too little left, with all that was written settled")
  func lowDisk() {
    let bench = SinkBench()
    bench.add()
    bench.run(settles: false)
    bench.isDiskLow.isSet = true
    bench.add()
    bench.now += .seconds(1)
    #expect(bench.run() == .rest(until: bench.now + .seconds(1)))
    #expect(bench.worker.condition.failure?.contains("min_free_disk") == true)
    #expect(bench.log.state.withLock { $0.committed } == 1)
    #expect(bench.allSequences == [1])
    bench.isDiskLow.isSet = false
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.isExact)
    #expect(bench.worker.condition.failure == nil)
  }

  @Test("goes on when its position can be written again, with nothing twice after a crash in between")
  func failedCommit() {
    let bench = SinkBench(every: .seconds(60))
    bench.add(3)
    bench.run()
    bench.log.state.withLock { $0.failsCommit = true }
    bench.add(2)
    bench.add(2, at: bench.time + .seconds(3600))
    bench.run()
    #expect(bench.worker.condition.failure?.contains("position") == true)
    bench.restart()
    bench.run()
    bench.log.state.withLock { $0.failsCommit = false }
    bench.now += .seconds(60)
    bench.run()
    #expect(bench.isExact)
  }

  @Test("says that the log can't be read, and goes on")
  func failedRead() {
    let bench = SinkBench()
    bench.add()
    bench.log.state.withLock { $0.failsRead = true }
    bench.run()
    #expect(bench.worker.condition.failure?.contains("log") == true)
    bench.log.state.withLock { $0.failsRead = false }
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.isExact)
  }
}
