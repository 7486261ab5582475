import Archive
import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite struct ArchiveExactlyOnceTests {
  @Test(arguments: 1...150)
  func `Every event is archived once through crashes, faults, torn writes and clocks that jump`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let bench = ArchiveSinkBench(size: Int.random(in: 0...2, using: &random) * 300, every: .seconds(60))
    for _ in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3: bench.add(Int.random(in: 1...5, using: &random))
      case 4, 5: bench.run(settles: Bool.random(using: &random))
      case 6:
        bench.now += .milliseconds(Int.random(in: 100...3000, using: &random))
        bench.time = bench.time + .seconds(Int.random(in: -90...120, using: &random))
      case 7, 8: crash(bench, &random)
      case 9: bench.worker.finish(); bench.restart()
      default:
        let operations: [FileError.Operation] = [
          .write, .sync, .create, .cut, .open, .inspect, .syncDirectory, .rename, .remove, .read,
        ]
        bench.faults[operations.randomElement(using: &random)!] = [ENOSPC, EIO].randomElement(using: &random)!
        bench.log.state.withLock { $0.failsCommit = Int.random(in: 0..<4, using: &random) == 0 }
        bench.run()
        if Bool.random(using: &random) { crash(bench, &random) }
        if Bool.random(using: &random) { heal(bench) }
      }
    }
    heal(bench)
    bench.add()
    bench.run()
    bench.worker.finish()
    #expect(bench.log.state.withLock { $0.committed } == bench.log.count, "seed \(seed): not all settled")
    #expect(try bench.sequences() == Array(1...UInt64(bench.log.count)), "seed \(seed)")
    let report = try bench.verify()
    #expect(report.faults == [] && report.notes == [] && report.openFiles == [], "seed \(seed)")
  }

  private func heal(_ bench: ArchiveSinkBench) {
    bench.faults.clear()
    bench.log.state.withLock { $0.failsCommit = false }
    bench.now += .seconds(60)
    bench.run()
    #expect(bench.worker.condition.failure == nil)
  }

  /// The process dies, and the disk keeps as much as it likes of what wasn't synced: files that were appended to are cut
  /// anywhere behind what the position or the manifest promise.
  private func crash(_ bench: ArchiveSinkBench, _ random: inout SeededGenerator) {
    bench.faults.clear()
    bench.log.state.withLock { $0.failsCommit = false }
    let known = bench.log.state.withLock { $0.attachment?["part"] }
    let bytes = known?["bytes"]?.integer(as: Int.self) ?? 0
    for name in bench.parts where Bool.random(using: &random) {
      let path = "\(bench.path)/\(name)"
      let isNamed = cutManifest(bench, name, &random)
      guard !isNamed, let length = readFile(path)?.count, bytes < length else { continue }
      truncate(path, off_t(Int.random(in: bytes...length, using: &random)))
    }
    bench.restart()
  }

  /// A manifest's last line may not have been synced when the file it names doesn't bear its name yet.
  /// - Returns: whether the manifest names the part still.
  private func cutManifest(_ bench: ArchiveSinkBench, _ part: String, _ random: inout SeededGenerator) -> Bool {
    let path = bench.path + "/manifest.ndjson"
    let first = UInt64(part.split(separator: "-")[1].prefix(20)) ?? 0
    guard let bytes = readFile(path), let last = readLines(path).last, last.contains(#""first_seq":\#(first),"#) else {
      return false
    }
    guard Bool.random(using: &random) else { return true }
    truncate(path, off_t(bytes.count - Int.random(in: 1...last.utf8.count, using: &random)))
    return false
  }
}
