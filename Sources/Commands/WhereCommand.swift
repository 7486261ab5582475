import Configuration
import Dialects
import HTTPServer
import JSON

extension Command {
  static let whereIs = Command(
    name: "where",
    summary: "Tells one event's whole story: where it is, and what became of it everywhere.",
    details: """
      Asks the running relay, and reads its files when none runs. Looks through the log
      as far back as it reaches (log.retain keeps delivered segments longer), the dead
      letters and every configured archive, the newest first. There is no index by id:
      the log's entries, 48 bytes an event, are read, at about 4 GB of log a second,
      dead letters at about 3 GB/s, archives at about 0.5 GB of lines a second.
      What there was no time for is said. An id that was sent several times is listed
      once for each storing. Exits with 1 when nothing is known of the event.
      """,
    operands: [
      Operand(name: "EVENT_ID", summary: "the event's id as it was sent (event_id, eventId, uuid); a UUID in any case")
    ],
    options: [
      ConfigurationFile.option,
      Option("timeout", "DURATION", "how long it may look, at most 60s; without it 30s"), jsonOption,
    ],
    examples: [
      .init("event-relay where 0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30", "did this one arrive?")
    ]
  ) { arguments, context async throws(CommandFailure) in
    let id = arguments.operands[0]
    guard SoughtID(id) != nil else { throw .usage(SoughtID.rule) }
    let timeout = try arguments.duration("timeout", in: .milliseconds(1) ... .seconds(60)) ?? .seconds(30)
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let passport = try await passport(id, timeout, configuration, context)
    context.output.print(
      arguments.flag("json") ? passport.description + "\n" : PassportTables(passport: passport).text, terminator: "")
    for sentence in passport["not_looked_at"]?.array ?? [] {
      context.output.error("not looked at: " + PrintableText.of(sentence.string ?? ""))
    }
    return passport["found"]?.bool == true ? .done : .failed
  }

  private static func passport(
    _ id: String, _ timeout: Duration, _ configuration: RelayConfiguration, _ context: CommandContext
  ) async throws(CommandFailure) -> JSONValue {
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let path = "/events/\(PercentText.encoded(id))?timeout=\(Int(timeout / .milliseconds(1)))ms"
    let answer = await context.withClient { client in
      await contact.ask("GET", path, timeout: timeout + .seconds(30), accepting: [200, 404], over: client)
    }
    switch answer {
    case .success(let value):
      guard value["event_id"] != nil else {
        throw CommandFailure("the relay that runs is of an older version, which has no passports")
      }
      return value
    case .failure(.notRunning(let why)):
      switch await WorkerThread.run({ Result { try context.relay.offlinePassport(configuration, id, timeout) } }) {
      case .success(let offline?): return offline
      case .success(nil):
        throw CommandFailure(
          "\(why); and \(PrintableText.of(configuration.dataDirectory)) holds no relay's files to read")
      case .failure(let error):
        throw CommandFailure("\(why); and the relay's files can't be read: \(PrintableText.of("\(error)"))")
      }
    case .failure(let problem): throw problem.failure
    }
  }
}
