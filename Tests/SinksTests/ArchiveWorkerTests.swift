import Archive
import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite struct ArchiveWorkerTests {
  @Test func `A file is published when it has reached its size, and all of it verifies`() throws {
    let bench = ArchiveSinkBench(size: 2000)
    for _ in 0..<5 {
      bench.add(1000)
      bench.run()
    }
    bench.worker.finish()
    #expect(bench.published.count > 1)
    let report = try bench.verify()
    #expect(report.faults == [] && report.extent.events == 5000 && report.missingNumbers == 0)
    #expect(try bench.sequences() == Array(1...5000))
  }

  @Test func `An event of the next slot begins a new file, and the old one is published`() throws {
    let bench = ArchiveSinkBench()
    bench.add(3)
    bench.run()
    #expect(bench.published == [] && bench.parts == ["20261023T120431.512Z-00000000000000000001.ndjson.gz.part"])
    bench.time = bench.time + .seconds(3600)
    bench.add(2)
    bench.run()
    #expect(bench.published == ["20261023T120431.512Z-00000000000000000001-00000000000000000003.ndjson.gz"])
    #expect(bench.parts == ["20261023T130431.512Z-00000000000000000004.ndjson.gz.part"])
    #expect(try bench.verify().openFiles == bench.parts)
  }

  @Test func `A slot's end publishes the file though no event comes`() throws {
    let bench = ArchiveSinkBench()
    bench.add(3)
    bench.run()
    bench.pass(.seconds(1800))
    #expect(bench.published.isEmpty)
    bench.pass(.seconds(1529 + 2))
    #expect(bench.published.count == 1 && bench.parts.isEmpty)
    #expect(try bench.verify().isWhole)
  }

  @Test func `A clock that was ahead doesn't keep a file open`() throws {
    let bench = ArchiveSinkBench()
    bench.add(1, at: bench.time + .seconds(400 * 86_400))
    bench.add(1)
    bench.run()
    bench.pass(.seconds(3602))
    #expect(bench.published == ["20271127T120431.512Z-00000000000000000001-00000000000000000002.ndjson.gz"])
    bench.add(1)
    bench.run()
    bench.worker.finish()
    // The time that names files doesn't run backwards.
    #expect(bench.published.last == "20271127T120431.512Z-00000000000000000003-00000000000000000003.ndjson.gz")
    let report = try bench.verify()
    #expect(report.isWhole && report.extent.events == 3)
  }

  @Test func `A stop publishes the open file, and the head is told`() throws {
    let bench = ArchiveSinkBench()
    bench.add(3)
    bench.run()
    bench.worker.finish()
    #expect(bench.published.count == 1 && bench.parts.isEmpty)
    #expect(bench.log.state.withLock { $0.committed } == 3)
    let head = try bench.verify().head.description
    #expect(bench.said.value.contains { $0.contains("archive file published") && $0.contains(head) })
    bench.restart()
    bench.add(1)
    bench.run()
    bench.worker.finish()
    #expect(try bench.verify().extent.events == 4)
  }

  @Test func `What was written before a kill is published after it, once`() throws {
    let bench = ArchiveSinkBench()
    for _ in 0..<5 {
      bench.add(10)
      bench.run()
      bench.add(5)
      bench.run(settles: false)
      bench.restart()
    }
    bench.run()
    bench.worker.finish()
    #expect(bench.published.count == 1)
    #expect(try bench.sequences() == Array(1...75))
    #expect(try bench.verify().isWhole)
  }

  @Test func `Events that the archive has aren't written again when the position is an old one`() throws {
    let bench = ArchiveSinkBench(size: 500)
    bench.add(500)
    bench.run()
    let (committed, attachment) = bench.log.state.withLock { ($0.committed, $0.attachment) }
    for _ in 0..<5 {
      bench.add(1000)
      bench.run()
    }
    var count = 5500
    repeat {
      bench.add(7)
      bench.run()
      count += 7
    } while bench.parts.isEmpty
    bench.log.state.withLock { ($0.committed, $0.attachment) = (committed, attachment) }
    bench.restart()
    bench.add(3)
    bench.run()
    bench.worker.finish()
    #expect(bench.log.state.withLock { $0.committed } == count + 3)
    #expect(try bench.sequences() == Array(1...UInt64(count + 3)))
    #expect(try bench.verify().isWhole)
  }

  @Test func `Old files go with a line in the manifest, the oldest first`() throws {
    let bench = ArchiveSinkBench(retention: .seconds(86_400))
    for _ in 0..<5 {
      bench.add(2)
      bench.run()
      bench.pass(.seconds(3603))
    }
    #expect(bench.published.count == 5)
    bench.pass(.seconds(86_400 - 3 * 3600))
    #expect(bench.published.count == 2)
    let report = try bench.verify()
    #expect(report.isWhole && report.extent.removedFiles == 3 && report.extent.firstSequence == 7)
    #expect(bench.names.filter { $0.hasSuffix(".salts") }.count == 2)
    bench.pass(.seconds(30 * 86_400))
    #expect(bench.published.isEmpty)
    #expect(try bench.verify().extent.removedFiles == 5)
    bench.add(1)
    bench.run()
    bench.worker.finish()
    #expect(try bench.verify().extent.events == 1)
  }

  @Test func `Filters leave gaps that are told, and no faults`() throws {
    let bench = ArchiveSinkBench()
    bench.common.apps = ["ios"]
    bench.restart()
    for app in ["ios", "web", "web", "ios", "web"] { bench.log.append("{}", app: app, at: bench.time) }
    bench.run()
    bench.worker.finish()
    let report = try bench.verify()
    #expect(report.isWhole && report.missingNumbers == 2 && report.gaps == [2...3])
    #expect(bench.log.state.withLock { $0.committed } == 5)
  }
}
