import Configuration
import Synchronization
import Torture

extension Command {
  static let torture = Command(
    name: "torture",
    summary: "Breaks a relay in every way it knows, and proves that nothing is lost.",
    details: """
      Starts a relay as a child process, with an upstream and a webhook's receiver that
      misbehave by a script, posts events, and makes faults at random moments: it kills
      the relay, fills its disk, fails its syncs, steps its clock, damages its log. Then
      it checks that each event that was answered with 200 is where it belongs, once, byte
      for byte, and that the ledgers say so. Exits with 1 when one isn't, names the first,
      and keeps the directory.

      Everything lies in a new directory in the one that --dir names, on whose disk the
      relay is tried; it grows by some 20 MB a minute, and is removed when all is well.
      Ctrl-C ends the faults early; what was done so far is proven.

      Faults:
      \(TortureFault.allCases.map { "  \($0.rawValue.padded(to: 11)) \($0.summary)" }.joined(separator: "\n"))
      """,
    options: [
      Option("minutes", "N", "how long faults are made, such as 2, 0.5 or 90; without it 2"),
      Option("dir", "D", "where the run makes its directory; without it the current one"),
      Option("seed", "S", "makes the schedule of an earlier run again; without it a random one"),
      Option(
        "faults", "F,F…",
        "only these, or all but those with a - before them: kill,clock or all,-cursor; list: lists them"),
      Option("keep", nil, "keeps the directory though all is well"),
      Option("verbose", nil, "tells each fault as it is made"),
      jsonOption,
    ],
    examples: [
      .init("event-relay torture", "two minutes of everything, here"),
      .init("event-relay torture --minutes 120 --dir /var/lib", "two hours on the disk that the relay will have"),
      .init("event-relay torture --seed 42 --faults kill,truncate --keep --verbose", "something particular again"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    if arguments["faults"] == "list" {
      var table = Table([.init("fault"), .init("what it is")])
      for fault in TortureFault.allCases { table.add([fault.rawValue, fault.summary]) }
      context.output.print(table.text, terminator: "")
      return .done
    }
    let options = try TortureChoice(arguments).options
    let isVerbose = arguments.flag("verbose")
    let stop = StopFlag()
    let waiting = Task {
      await context.waitForStop()
      stop.raise()
    }
    defer { waiting.cancel() }
    let progress = Progress(context.output)
    context.output.error("seed \(options.seed)")
    let result = await WorkerThread.run { () -> Result<TortureReport, TortureError> in
      let teller = TortureTeller(progress, isVerbose: isVerbose)
      do throws(TortureError) {
        let run = try TortureRun(options, isStopped: { stop.isRaised }, tell: teller.tell)
        return .success(try run.run())
      } catch {
        return .failure(error)
      }
    }
    progress.clear()
    let report: TortureReport
    switch result {
    case .success(let found): report = found
    case .failure(let error): throw CommandFailure(PrintableText.of(error.description))
    }
    let tables = TortureTables(report: report)
    context.output.print(arguments.flag("json") ? report.json.description + "\n" : tables.text, terminator: "")
    return report.verdict.isProven ? .done : .failed
  }

  /// What `torture` starts as its child; no help lists it.
  static let tortureRelay = Command(
    name: "torture-relay", summary: "The relay of event-relay torture, which alone can run it.",
    options: [
      ConfigurationFile.option, Option("control", "N", "the descriptor of the socket by which faults are ordered"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    guard let number = try arguments.integer("control", in: 3...1024) else {
      throw .usage("this is for event-relay torture to run, not for users; see event-relay torture --help")
    }
    let relay: TorturedRelay
    do throws(TortureError) {
      relay = try TorturedRelay(socket: Int32(number))
    } catch {
      throw .usage(error.description)
    }
    let source = try ConfigurationFile(arguments, context).source
    let configuration = try ConfigurationFile.unwrap(source.read())
    return await relay.run(configuration, context.environment, source) == 0 ? .done : .failed
  }
}

/// Whether the user has said stop.
final class StopFlag: Sendable {
  private let flag = Atomic(false)

  var isRaised: Bool { flag.load(ordering: .relaxed) }

  func raise() { flag.store(true, ordering: .relaxed) }
}
