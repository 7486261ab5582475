import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("Exactly once")
struct ExactlyOnceTests {
  @Test("holds through crashes, faults, renames, deletions and clocks that jump", arguments: 1...300)
  func property(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let paths = ["all.ndjson", "%H/%M.ndjson", "%Y-%m-%d.ndjson", "%app/%H.ndjson", "%M-%app.ndjson"]
    let bench = SinkBench(
      path: paths[Int.random(in: 0..<paths.count, using: &random)], size: Int.random(in: 0...3, using: &random) * 700,
      every: .seconds(60))
    /// What was acknowledged in a file that somebody then deleted: it may be gone.
    var maybeGone: Set<Int> = []
    var renames = 0
    for _ in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3:
        for _ in 0..<Int.random(in: 1...5, using: &random) {
          bench.log.append(#"{"a":1}"#, app: ["ios", "web", "tv"].randomElement(using: &random)!, at: bench.time)
        }
      case 4, 5: bench.run(settles: Bool.random(using: &random))
      case 6:
        bench.now += .milliseconds(Int.random(in: 100...3000, using: &random))
        bench.time = bench.time + .seconds(Int.random(in: -90...120, using: &random))
      case 7, 8: crash(bench, &random)
      case 9:
        let operations: [FileError.Operation] = [.write, .sync, .create, .cut, .open, .inspect, .syncDirectory]
        bench.faults[operations.randomElement(using: &random)!] = [ENOSPC, EIO].randomElement(using: &random)!
        bench.log.state.withLock { $0.failsCommit = Int.random(in: 0..<4, using: &random) == 0 }
        bench.run()
        if Bool.random(using: &random) { heal(bench) }
      case 10:
        heal(bench)
        guard let file = bench.files.randomElement(using: &random) else { break }
        renames += 1
        let slash = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        bench.move(file, "\(slash)moved-\(renames)")
      default:
        heal(bench)
        guard let file = bench.files.randomElement(using: &random) else { break }
        let kept = bench.worker.reader.range?.lowerBound ?? .max
        maybeGone.formUnion(bench.sequences(file).filter { $0 > 0 && UInt64($0) < kept })
        bench.delete(file)
      }
    }
    heal(bench)
    bench.add()
    bench.run()
    bench.now += .seconds(60)
    bench.run()
    var counts: [Int: Int] = [:]
    for sequence in bench.allSequences { counts[sequence, default: 0] += 1 }
    #expect(counts[-1] == nil, "seed \(seed): half a line")
    #expect(counts.filter { $0.value > 1 }.isEmpty, "seed \(seed): twice")
    let missing = Set(1...bench.log.count).subtracting(counts.keys)
    #expect(missing.subtracting(maybeGone).isEmpty, "seed \(seed): lost")
  }

  private func heal(_ bench: SinkBench) {
    bench.faults.clear()
    bench.log.state.withLock { $0.failsCommit = false }
    bench.now += .seconds(60)
    bench.run()
  }

  /// The process dies, and the disk keeps as much as it likes of what wasn't synced.
  private func crash(_ bench: SinkBench, _ random: inout SeededGenerator) {
    if let file = bench.worker.openFiles.randomElement(using: &random), (try? file.look()) == .unchanged,
      Bool.random(using: &random)
    {
      truncate(file.path, off_t(Int.random(in: file.mark.length...file.length, using: &random)))
    }
    bench.restart()
  }
}
