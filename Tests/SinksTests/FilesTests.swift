import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

/// 2026-10-23T12:04:31.512Z
private let noon = Timestamp(milliseconds: 1_792_757_071_512)

@Suite("A path pattern")
struct PathPatternTests {
  @Test("names files by UTC time")
  func names() throws {
    #expect(try PathPattern("/d/%Y/%m/%d/%H-%M%%.ndjson").path(at: noon) == "/d/2026/10/23/12-04%.ndjson")
    #expect(try PathPattern("/d//./x.ndjson").path(at: noon) == "/d/x.ndjson")
    #expect(try PathPattern("/%Y").path(at: Timestamp(milliseconds: -62_135_596_800_000)) == "/0001")
  }

  @Test("says what is wrong with it", arguments: ["x/%Y", "/d/%y.ndjson", "/d/%", "/d/", "/", "", "/d/../x"])
  func faults(text: String) {
    #expect(throws: PathPatternError.self) { try PathPattern(text) }
  }

  @Test(
    "knows when its text changes",
    arguments: [
      ("/%M", "2026-10-23T12:05:00.000Z"), ("/%Y/%H", "2026-10-23T13:00:00.000Z"),
      ("/%d", "2026-10-24T00:00:00.000Z"), ("/%Y%m", "2026-11-01T00:00:00.000Z"), ("/%Y", "2027-01-01T00:00:00.000Z"),
    ])
  func changes(pattern: String, expected: String) throws {
    #expect(try PathPattern(pattern).nextChange(after: noon)?.description == expected)
    #expect(try PathPattern("/x").nextChange(after: noon) == nil)
  }

  @Test("tells the time in a name of its own, numbered or not")
  func matching() throws {
    let pattern = try PathPattern("/%Y/%m-%d.%H.ndjson")
    let year = try #require(pattern.match("2026", component: 0, after: .init()))
    for name in ["10-23.12.ndjson", "10-23.12.7.ndjson"] {
      #expect(pattern.match(name, component: 1, after: year)?.end?.description == "2026-10-23T13:00:00.000Z")
    }
    for name in [
      "10-23.ndjson", "10-23.12.x.ndjson", "10-23.12.07.ndjson", "10-23.1.ndjson", "10-23.12.ndjson.gz", "a",
    ] {
      #expect(pattern.match(name, component: 1, after: year) == nil, "\(name)")
    }
    #expect(pattern.match("202", component: 0, after: .init()) == nil)
  }

  @Test("takes no name that contradicts itself, and no time from half a date")
  func contradictions() throws {
    let pattern = try PathPattern("/%Y/%Y-%H.ndjson")
    let year = try #require(pattern.match("2026", component: 0, after: .init()))
    #expect(pattern.match("2025-01.ndjson", component: 1, after: year) == nil)
    #expect(try #require(pattern.match("2026-01.ndjson", component: 1, after: year)).end == nil)
    let month = try #require(try PathPattern("/%Y%m").match("202613", component: 0, after: .init()))
    #expect(month.end == nil)
  }
}

@Suite("A rotation policy")
struct RotationPolicyTests {
  private func policy(_ path: String, every: Duration = .zero, size: Int = 0) throws -> RotationPolicy {
    RotationPolicy(pattern: try PathPattern(path), size: size, every: every)
  }

  @Test("ends a file at its name's end or its slot's, whichever is first")
  func ends() throws {
    #expect(try policy("/%H", every: .seconds(86_400)).end(ofFileAt: noon).description == "2026-10-23T13:00:00.000Z")
    #expect(try policy("/%H", every: .seconds(900)).end(ofFileAt: noon).description == "2026-10-23T12:15:00.000Z")
    #expect(try policy("/x", every: .seconds(86_400)).end(ofFileAt: noon).description == "2026-10-24T00:00:00.000Z")
    #expect(try policy("/x").end(ofFileAt: noon).milliseconds == .max)
  }

  @Test("numbers files of one name, and begins at none under another")
  func numbers() throws {
    let policy = try policy("/%H.ndjson")
    var state = RotationPolicy.State(newest: noon, path: "/12.ndjson", number: 3, isEnded: true)
    #expect(policy.next(after: state) == ("/12.ndjson", 4))
    state.isEnded = false
    #expect(policy.next(after: state) == ("/12.ndjson", 3))
    #expect(policy.continues("/12.3.ndjson", state))
    #expect(!policy.continues("/12.ndjson", state))
    state.newest = noon + .seconds(3600)
    #expect(policy.next(after: state) == ("/13.ndjson", 0))
    #expect(!policy.continues("/12.3.ndjson", state))
  }

  @Test("lets one line be larger than the size")
  func fits() throws {
    let policy = try policy("/x", size: 100)
    #expect(policy.fits(line: 1000, into: 0))
    #expect(policy.fits(line: 50, into: 50))
    #expect(!policy.fits(line: 51, into: 50))
    #expect(try self.policy("/x").fits(line: 1 << 40, into: 1 << 40))
  }
}

@Suite("Retention")
struct RetentionTests {
  @Test("goes by the name's time where it tells one, else by the last write, and spares the open file")
  func decision() {
    let policy = RetentionPolicy(retention: .seconds(100))
    let old = noon - .seconds(100)
    #expect(policy.removes(named: old, modified: noon, isOpen: false, now: noon))
    #expect(!policy.removes(named: old + .milliseconds(1), modified: old, isOpen: false, now: noon))
    #expect(policy.removes(named: nil, modified: old, isOpen: false, now: noon))
    #expect(!policy.removes(named: old, modified: old, isOpen: true, now: noon))
  }

  @Test("removes the sink's own old files and the directories they leave empty, and nothing else")
  func sweep() {
    let bench = SinkBench(path: "d/%Y/%m/%d.ndjson", retention: .seconds(86_400))
    for directory in ["d", "d/2026", "d/2026/09", "d/2026/10", "d/2025", "d/2025/01"] {
      mkdir(bench.directory.file(directory), 0o700)
    }
    let kept = ["d/2026/10/22.ndjson", "d/2026/10/21.txt", "d/note", "d/2025/01/x.ndjson", "d/2026/10/2.ndjson"]
    let old = ["d/2026/09/30.ndjson", "d/2026/09/30.1.ndjson", "d/2026/10/21.ndjson"]
    for file in kept + old { _ = bench.directory.write(file, "x\n") }
    bench.run()
    #expect(bench.files == kept.sorted())
    #expect(!FileManager.default.fileExists(atPath: bench.directory.file("d/2026/09")))
  }

  @Test("is looked after at start and each hour, though the sink can't write")
  func hourly() {
    let bench = SinkBench(path: "%Y-%m-%d.ndjson", retention: .seconds(86_400))
    bench.isDiskLow.isSet = true
    _ = bench.directory.write("2026-01-01.ndjson", "x\n")
    bench.run()
    #expect(bench.files.isEmpty)
    _ = bench.directory.write("2026-01-02.ndjson", "x\n")
    bench.now += .seconds(3599)
    bench.run()
    #expect(bench.files.count == 1)
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.files.isEmpty)
  }

  @Test("waits an hour after a start whose clock is far ahead of the newest event")
  func wrongClock() {
    let bench = SinkBench(path: "%Y-%m-%d.ndjson", retention: .seconds(86_400))
    _ = bench.directory.write("2026-10-22.ndjson", "x\n")
    bench.add()
    bench.run()
    let files = bench.files
    #expect(files.count == 2)
    bench.time = bench.time + .seconds(3650 * 86_400)
    bench.restart()
    bench.run()
    #expect(bench.files == files)
    bench.now += .seconds(3600)
    bench.run()
    #expect(bench.files == ["2026-10-23.ndjson"])
    // A few days' rest is nothing odd.
    #expect(!RetentionPolicy.waitsForClock(newest: bench.time - .seconds(7 * 86_400), now: bench.time))
    #expect(!RetentionPolicy.waitsForClock(newest: Timestamp(milliseconds: .min), now: bench.time))
  }

  @Test("never takes the file that is written to, whatever its name tells")
  func openFile() {
    let bench = SinkBench(path: "%Y-%m-%d.ndjson", retention: .seconds(1))
    bench.add(1, at: bench.time - .seconds(10 * 86_400))
    bench.run()
    bench.now += .seconds(3600)
    bench.run()
    #expect(bench.files.count == 1)
  }
}
