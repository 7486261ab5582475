import Clocks
import Foundation
import JSON
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A sink of line files")
struct NDJSONWorkerTests {
  @Test("writes a line an event, as the sender sent it, and acknowledges what is synced")
  func lines() {
    let bench = SinkBench()
    bench.log.append(#"{"n":39.990}"#, at: bench.time)
    bench.log.append("{\n\"n\":1E5}", app: "web", kind: .identify, at: bench.time, flags: [.lineBreaks, .clamped])
    bench.run()
    let head = #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r-1","app":"#
    #expect(
      readLines(bench.directory.file("2026/10/23/12.ndjson")) == [
        head + #""ios","kind":"event","protocol":"app-store-operator","seq":1,"event":{"n":39.990}}"#,
        head
          + #""web","kind":"identify","protocol":"app-store-operator","seq":2,"occurred_at_used":"2026-10-23T12:04:31.512Z","event":{ "n":1E5}}"#,
      ])
    #expect(bench.log.state.withLock { $0.committed } == 2)
  }

  @Test("syncs a second after it wrote, or when much has been written, and not before")
  func syncs() {
    let bench = SinkBench()
    bench.add()
    #expect(bench.run(settles: false) == .wait(until: bench.now + .seconds(1)))
    #expect(bench.sequences("2026/10/23/12.ndjson") == [1])
    #expect(bench.log.state.withLock { $0.committed } == 0)
    bench.now += .milliseconds(999)
    bench.run(settles: false)
    #expect(bench.log.state.withLock { $0.committed } == 0)
    bench.now += .milliseconds(1)
    bench.run(settles: false)
    #expect(bench.log.state.withLock { $0.committed } == 1)

    let big = #"{"a":""# + String(repeating: "x", count: 1 << 20) + #""}"#
    for _ in 0..<9 { bench.log.append(big, at: bench.time) }
    bench.run(settles: false)
    #expect(bench.log.state.withLock { $0.committed } >= 8)
  }

  @Test("goes on in the same file after a restart, and cuts off what wasn't committed")
  func restart() throws {
    let bench = SinkBench()
    bench.add(3)
    bench.run()
    bench.add(2)
    bench.run(settles: false)
    #expect(bench.allSequences == [1, 2, 3, 4, 5])
    bench.restart()
    let handle = try #require(FileHandle(forWritingAtPath: bench.directory.file("2026/10/23/12.ndjson")))
    handle.seekToEndOfFile()
    handle.write(Data(#"{"half":"#.utf8))
    bench.add()
    bench.run()
    #expect(bench.files == ["2026/10/23/12.ndjson"])
    #expect(bench.sequences("2026/10/23/12.ndjson") == [1, 2, 3, 4, 5, 6])
  }

  @Test("begins a file at each hour that its path names")
  func rotatesByName() {
    let bench = SinkBench()
    bench.add(2)
    bench.add(1, at: bench.time + .seconds(3600))
    bench.run()
    #expect(bench.sequences("2026/10/23/12.ndjson") == [1, 2])
    #expect(bench.sequences("2026/10/23/13.ndjson") == [3])
  }

  @Test("begins a numbered file at each slot when the name stays the same, over restarts too")
  func rotatesBySlot() {
    let bench = SinkBench(path: "all.ndjson", every: .seconds(60))
    bench.add()
    bench.run()
    bench.restart()
    bench.add(1, at: bench.time + .seconds(60))
    bench.add(1, at: bench.time + .seconds(120))
    bench.run()
    bench.restart()
    bench.add(1, at: bench.time + .seconds(121))
    bench.run()
    #expect(bench.sequences("all.ndjson") == [1])
    #expect(bench.sequences("all.1.ndjson") == [2])
    #expect(bench.sequences("all.2.ndjson") == [3, 4])
  }

  @Test("doesn't use a number again when its file is gone")
  func numbersGrow() {
    let bench = SinkBench(path: "all.ndjson", every: .seconds(60))
    bench.add()
    bench.add(1, at: bench.time + .seconds(60))
    bench.run()
    bench.delete("all.ndjson")
    bench.add(1, at: bench.time + .seconds(120))
    bench.run()
    #expect(bench.files == ["all.1.ndjson", "all.2.ndjson"])
  }

  @Test("begins a file before the line that would make it too large; a larger one has its own")
  func rotatesBySize() throws {
    let bench = SinkBench(size: 500)
    bench.add(5)
    bench.log.append(#"{"a":""# + String(repeating: "x", count: 1000) + #""}"#, at: bench.time)
    bench.add(1)
    bench.run()
    #expect(bench.isExact)
    let sizes = bench.files.map { readFile(bench.directory.file($0))?.count ?? 0 }
    #expect(sizes.filter { $0 > 500 }.count == 1)
    #expect(bench.sequences("2026/10/23/12.ndjson") == [1, 2, 3])
    #expect(bench.sequences("2026/10/23/12.1.ndjson") == [4, 5])
    #expect(bench.sequences("2026/10/23/12.2.ndjson") == [6])
    #expect(bench.sequences("2026/10/23/12.3.ndjson") == [7])
  }

  @Test("keeps the newest name when the clock jumps back, over a restart too")
  func clockBackwards() {
    let bench = SinkBench()
    bench.add()
    bench.add(1, at: bench.time - .seconds(7200))
    bench.run()
    bench.restart()
    bench.add(1, at: bench.time - .seconds(86_400))
    bench.run()
    #expect(bench.files == ["2026/10/23/12.ndjson"])
    #expect(bench.isExact)
  }

  @Test("leaves a renamed file with all that was written to it, and begins another")
  func renamed() {
    let bench = SinkBench(path: "all.ndjson")
    bench.add(2)
    bench.run()
    bench.add()
    bench.run(settles: false)
    bench.move("all.ndjson", "old")
    bench.now += .seconds(1)
    bench.add()
    bench.run(settles: false)
    #expect(bench.sequences("old") == [1, 2, 3])
    #expect(bench.sequences("all.ndjson") == [4])
  }

  @Test("finds a file that was renamed before a crash, and writes nothing twice")
  func renamedAndCrashed() {
    let bench = SinkBench(path: "all.ndjson")
    bench.add(2)
    bench.run()
    bench.add(2)
    bench.run(settles: false)
    bench.move("all.ndjson", "old")
    bench.restart()
    bench.run()
    #expect(bench.sequences("old") == [1, 2])
    #expect(bench.sequences("all.ndjson") == [3, 4])
  }

  @Test("writes again what went with a deleted file unacknowledged, and makes its directory again")
  func deleted() {
    let bench = SinkBench(path: "d/all.ndjson")
    bench.add(2)
    bench.run()
    bench.add(2)
    bench.run(settles: false)
    bench.delete("d")
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.sequences("d/all.ndjson") == [3, 4])
    #expect(bench.worker.condition.failure == nil)
  }

  @Test("goes on in a directory that was put in its directory's place")
  func replacedDirectory() {
    let bench = SinkBench(path: "d/all.ndjson")
    bench.add(2)
    bench.run()
    bench.move("d", "e")
    mkdir(bench.directory.file("d"), 0o700)
    bench.add(1)
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.sequences("e/all.ndjson") == [1, 2])
    #expect(bench.sequences("d/all.ndjson") == [3])
  }

  @Test("leaves a file that somebody cut, or wrote to, and begins the next number")
  func changedByOthers() throws {
    let bench = SinkBench(path: "all.ndjson")
    bench.add(2)
    bench.run()
    truncate(bench.directory.file("all.ndjson"), 0)
    bench.now += .seconds(1)
    bench.add()
    bench.run()
    #expect(bench.sequences("all.1.ndjson") == [3])
    _ = bench.directory.write("all.1.ndjson", "")
    let handle = try #require(FileHandle(forWritingAtPath: bench.directory.file("all.1.ndjson")))
    handle.write(Data(String(repeating: "theirs\n", count: 100).utf8))
    bench.now += .seconds(1)
    bench.add()
    bench.run()
    #expect(bench.sequences("all.2.ndjson") == [4])
  }

  @Test("never writes into a file that isn't its own")
  func foreignFile() {
    let bench = SinkBench(path: "all.ndjson")
    _ = bench.directory.write("all.ndjson", "somebody's\n")
    bench.add()
    bench.run()
    #expect(readLines(bench.directory.file("all.ndjson")) == ["somebody's"])
    #expect(bench.sequences("all.1.ndjson") == [1])
  }

  @Test("refuses a position of a newer version, and says so")
  func newerVersion() {
    let bench = SinkBench()
    bench.log.state.withLock { $0.attachment = ["version": 3] }
    bench.restart()
    bench.add()
    bench.run()
    #expect(bench.worker.condition.failure?.contains("version 3") == true)
    #expect(bench.files.isEmpty)
  }

  @Test("works the same for two sinks side by side, with paths of their own")
  func two() {
    let (one, other) = (SinkBench(path: "a/%H.ndjson"), SinkBench(path: "b/%H.ndjson"))
    for bench in [one, other] {
      bench.add(10)
      bench.run()
      #expect(bench.isExact)
    }
  }
}
