import Foundation
import Testing

@testable import EventLog

/// `EVENT_RELAY_LOG_SEED` runs one seed alone, `EVENT_RELAY_LOG_RUNS` so many of them.
@Suite("Whatever happens to the log")
struct PropertyTests {
  @Test("what was answered is owed until it is settled, and the books balance", arguments: 0..<4)
  func randomDays(shard: Int) throws {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["EVENT_RELAY_LOG_SEED"].flatMap(UInt64.init) {
      if shard == 0 { try Self.run(seed, verbose: true) }
      return
    }
    let runs = environment["EVENT_RELAY_LOG_RUNS"].flatMap(Int.init) ?? 2000
    for run in stride(from: shard, to: runs, by: 4) { try Self.run(UInt64(run) &* 7919 &+ 1) }
  }

  private static func run(_ seed: UInt64, verbose: Bool = false) throws {
    var model = LogModel(seed: seed)
    model.isVerbose = verbose
    do {
      try model.run(steps: 45)
    } catch {
      model.fault("\(error)")
    }
    #expect(model.faults.isEmpty, "EVENT_RELAY_LOG_SEED=\(seed)")
  }
}
