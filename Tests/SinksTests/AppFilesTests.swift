import Clocks
import Foundation
import JSON
import TestSupport
import Testing

@testable import Sinks

@Suite("Line files of each app")
struct AppFilesTests {
  @Test("hold that app's events, in order, named by its own time")
  func perApp() {
    let bench = SinkBench(path: "%app/%H.ndjson")
    bench.log.append("{}", app: "ios", at: bench.time)
    bench.log.append("{}", app: "web", at: bench.time)
    bench.log.append("{}", app: "ios", at: bench.time + .seconds(3600))
    // Another app's clock is no reason to name this one's file otherwise.
    bench.log.append("{}", app: "web", at: bench.time)
    bench.log.append("{}", app: "../a b", at: bench.time)
    bench.run()
    #expect(bench.files == ["___a_b/12.ndjson", "ios/12.ndjson", "ios/13.ndjson", "web/12.ndjson"])
    #expect(bench.sequences("ios/12.ndjson") == [1])
    #expect(bench.sequences("ios/13.ndjson") == [3])
    #expect(bench.sequences("web/12.ndjson") == [2, 4])
    #expect(bench.sequences("___a_b/12.ndjson") == [5])
  }

  @Test("are many more than are open at once, and are all gone on with, also after a restart")
  func many() {
    let bench = SinkBench(path: "%app.ndjson")
    for round in 0..<4 {
      for number in 0..<300 { bench.log.append("{}", app: "app-\(number)", at: bench.time) }
      bench.run(settles: round.isMultiple(of: 2))
      #expect(bench.openFiles <= SinkBench.openFilesMax)
      if round == 1 { bench.restart() }
    }
    bench.run()
    #expect(bench.isExact)
    #expect(bench.files.count == 300)
    // All files that are new in a batch are committed together.
    #expect(bench.log.state.withLock { $0.commits } < 20)
  }

  @Test("are forgotten by the record when they have ended, and begun anew when the app comes back")
  func ended() {
    let bench = SinkBench(path: "%H/%app.ndjson")
    for number in 0..<50 { bench.log.append("{}", app: "app-\(number)", at: bench.time) }
    bench.run()
    #expect(bench.apps.count == 50)
    bench.time = bench.time + .seconds(3600)
    bench.log.append("{}", app: "app-7", at: bench.time)
    bench.run()
    bench.log.append("{}", app: "app-7", at: bench.time)
    bench.run()
    #expect(bench.apps == ["app-7"])
    bench.log.append("{}", app: "app-8", at: bench.time - .seconds(3600))
    bench.run()
    #expect(bench.isExact)
    #expect(bench.sequences("12/app-8.1.ndjson") == [53])
  }

  @Test("are found again by a record of the version that knew no apps, and by one whose pattern has changed")
  func versions() {
    let bench = SinkBench(path: "all.ndjson")
    bench.add(3)
    bench.run()
    bench.log.state.withLock { state in
      guard let entry = state.attachment?["apps"]?.array?.first?.members else { return }
      state.attachment = .object([.init("version", 1)] + entry.filter { $0.key != "app" })
    }
    bench.restart()
    bench.add()
    bench.run()
    #expect(bench.sequences("all.ndjson") == [1, 2, 3, 4])
    for path in ["%app.ndjson", "all.ndjson"] {
      bench.options.pattern = try! PathPattern(bench.directory.file(path))
      bench.restart()
      bench.add(2)
      bench.run()
      bench.add()
      bench.run()
      #expect(bench.apps.count == 1)
    }
    #expect(bench.sequences("ios.ndjson") == [5, 6, 7])
    #expect(bench.isExact)
  }

  @Test("go when they are too old, each app's by itself; an open one stays")
  func retention() {
    let bench = SinkBench(path: "%app/%Y-%m-%d-%app.ndjson", retention: .seconds(86_400))
    let old = ["ios/2026-01-01-ios.ndjson", "ios/2026-01-01-ios.2.ndjson", "a-b_2/2025-12-31-a-b_2.ndjson"]
    let kept = ["ios/2026-01-01-.ndjson", "ios/note", "x/2026-10-23-x.ndjson", "x/2026-01-01-y.z.ndjson"]
    for file in old + kept {
      mkdir(bench.directory.file(String(file.prefix { $0 != "/" })), 0o700)
      _ = bench.directory.write(file, "x\n")
    }
    bench.run()
    #expect(bench.files == kept.sorted())
  }

  @Test("fail together when one can't be written, and are exact after it")
  func failure() {
    let bench = SinkBench(path: "%app/x.ndjson")
    let blocker = bench.directory.write("web", "a file where the directory should be")
    for number in 0..<9 { bench.log.append("{}", app: ["ios", "web", "tv"][number % 3], at: bench.time) }
    bench.run()
    #expect(bench.worker.condition.failure?.contains("web") == true)
    #expect(bench.log.state.withLock { $0.committed } == 0)
    unlink(blocker)
    bench.now += .seconds(1)
    bench.run()
    #expect(bench.isExact)
  }
}

extension SinkBench {
  /// Files the worker has open.
  fileprivate var openFiles: Int { worker.files?.values.filter { $0.current?.open != nil }.count ?? 0 }

  /// The apps on record.
  fileprivate var apps: [String] {
    log.state.withLock { $0.attachment?["apps"]?.array?.compactMap { $0["app"]?.string } ?? [] }
  }
}
