import Configuration
import JSON

extension Command {
  static let jsonOption = Option("json", nil, "prints JSON in place of a table")

  static let status = Command(
    name: "status",
    summary: "Shows how the relay is: the log, each destination, what waits.",
    details: "Asks the running relay at its admin address; reads its files when none runs.",
    options: [ConfigurationFile.option, jsonOption],
    examples: [
      .init("event-relay status", "with ./relay.yaml"),
      .init("event-relay status --json --config /etc/event-relay/relay.yaml", "for a script"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let status: JSONValue
    switch await context.withClient({ await contact.ask("GET", "/status", over: $0) }) {
    case .success(let value): status = value
    case .failure(.notRunning(let why)):
      switch await WorkerThread.run({ Result { try context.relay.offlineStatus(configuration) } }) {
      case .success(let offline?):
        context.output.error("no relay runs; this is what its files say")
        status = offline
      case .success(nil):
        throw CommandFailure(
          "\(why); and \(PrintableText.of(configuration.dataDirectory)) holds no relay's files to read")
      case .failure(let error):
        throw CommandFailure("\(why); and the relay's files can't be read: \(PrintableText.of("\(error)"))")
      }
    case .failure(let problem): throw problem.failure
    }
    context.output.print(arguments.flag("json") ? status.description : StatusTables.text(status), terminator: "")
    if arguments.flag("json") { context.output.print("") }
    return .done
  }

  static let flush = Command(
    name: "flush",
    summary: "Sends what waits for a batch to fill.",
    details: """
      Asks the running relay. Skips upstream.linger, but no delay that an upstream asked
      for or that follows a failure. Exits with 1 when something still waits afterwards.
      """,
    options: [
      ConfigurationFile.option,
      Option("timeout", "DURATION", "how long the relay tries, at most 60s; without it 2s"),
      Option("json", nil, "prints JSON in place of a sentence"),
    ],
    examples: [.init("event-relay flush --timeout 10s", "before a deployment")]
  ) { arguments, context async throws(CommandFailure) in
    let timeout = try arguments.duration("timeout", in: .zero ... .seconds(60)) ?? .seconds(2)
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let milliseconds = Int(timeout / .milliseconds(1))
    let answer = await context.withClient { client in
      await contact.ask(
        "POST", "/flush?timeout=\(milliseconds)ms", timeout: timeout + .seconds(10), over: client)
    }
    let value: JSONValue
    switch answer {
    case .success(let answer): value = answer
    case .failure(let problem): throw problem.failure
    }
    guard let flushed = value["flushed"]?.integer(as: Int.self), let pending = value["pending"]?.integer(as: Int.self)
    else { throw CommandFailure("the answer at the admin address isn't a relay's; is it another program's?") }
    context.output.print(
      arguments.flag("json")
        ? value.description : "\(flushed) \(flushed == 1 ? "event" : "events") sent, \(pending) still waiting")
    if pending > 0 { context.output.error("event-relay status says what the rest waits for") }
    return pending == 0 ? .done : .failed
  }
}
