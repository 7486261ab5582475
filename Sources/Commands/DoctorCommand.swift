import Configuration
import JSON

extension Command {
  static let doctor = Command(
    name: "doctor",
    summary: "Checks the ledger, the log, every sink, the disk and the configuration.",
    details: """
      Recomputes each destination's ledger from the files themselves, checks every
      record of the log, each archive's manifest, the files' modes, the disk, the clock
      and the configuration, and asks the running relay how its destinations are. Reads
      only, and may be called while the relay runs: what can't be compared because the
      relay moved on is looked at again. Exits with 1 and names the first thing that is
      wrong. Reads all of the log and of the dead letters, at about the disk's speed.
      """,
    options: [
      ConfigurationFile.option, Option("deep", nil, "reads every byte of the archives, too"), jsonOption,
    ],
    examples: [
      .init("event-relay doctor", "with ./relay.yaml"),
      .init("event-relay doctor --deep --json", "every archive's files too, for a script"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let file = try ConfigurationFile(arguments, context)
    let configuration: RelayConfiguration
    var faults: [String] = []
    switch file.read() {
    case .success(let whole): configuration = whole
    case .failure(let found):
      // Secrets that are not in this environment are no reason not to look at the rest.
      configuration = try file.loadForAsking()
      faults = found.all.map(\.description)
    }
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let isDeep = arguments.flag("deep")
    let found = faults
    let report = await context.withClient { client in
      await WorkerThread.run {
        context.relay.doctor(configuration, found, isDeep) {
          Blocking.value { try? await contact.ask("GET", "/status", over: client).get() }
        }
      }
    }
    let tables = DoctorTables(report: report)
    context.output.print(arguments.flag("json") ? report.description + "\n" : tables.text, terminator: "")
    if let fault = tables.firstFault { context.output.error(PrintableText.of(fault)) }
    return report["ok"]?.bool == true ? .done : .failed
  }
}
