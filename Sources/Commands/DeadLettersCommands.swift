import Clocks
import DeadLetters
import EventsAPI
import Glibc
import JSON
import Records

extension Command {
  static let filterOptions = [
    ConfigurationFile.option,
    Option("destination", "NAME", "only those of this destination, such as upstream"),
    Option("app", "NAME", "only those of this app"),
    Option("code", "CODE", "only those refused with this code, such as invalid_write_key"),
    Option(
      "since", "TIME", "only those given up from then on: 2026-10-23, 2026-10-23T12:00:00Z, or 2h for two hours ago"),
    Option("until", "TIME", "only those given up before then"),
  ]

  static let deadLettersList = Command(
    name: "dead-letters list",
    summary: "Lists the events that were given up, and why.",
    options: filterOptions + [
      Option("all", nil, "those too that were sent again; a column says which"),
      Option("limit", "COUNT", "at most so many, the oldest first; without it 1000"),
      Option("json", nil, "prints a JSON object a line in place of a table"),
    ],
    examples: [
      .init("event-relay dead-letters list --since 1d", "those of the last day"),
      .init("event-relay dead-letters list --code invalid_write_key --json", "for a script"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let filter = try DeadLetterQuery(arguments, now: context.clock.now).filter
    let limit = try arguments.integer("limit", in: 1...1_000_000) ?? 1000
    let isJSON = arguments.flag("json")
    let isAll = arguments.flag("all")
    return try await withDeadLetters(arguments, context) { reader in
      var table = Table(
        [
          .init("at"), .init("destination"), .init("app"), .init("reason"), .init("status", isNumber: true),
          .init("code"), .init("attempts", isNumber: true), .init("event id"), .init("place"),
        ] + (isAll ? [.init("replayed")] : []))
      var count = 0
      try reader.forEach(filter) { letter, _ in
        guard count < limit else {
          count += 1
          return false
        }
        count += 1
        if isJSON {
          context.output.print(letter.json.description)
        } else {
          table.add(
            [
              letter.at, letter.destination, letter.app, letter.reason, letter.status.map(String.init) ?? "",
              letter.code ?? "", String(letter.attempts), letter.eventID ?? "", "\(letter.file):\(letter.line)",
            ] + (isAll ? [letter.isReplayed ? "yes" : "no"] : []))
        }
        return true
      }
      if !isJSON, count > 0 { context.output.print(table.text, terminator: "") }
      if count == 0 { context.output.error("no dead letters") }
      if count > limit { context.output.error("there are more; --limit says how many are listed") }
      return .done
    }
  }

  static let deadLettersShow = Command(
    name: "dead-letters show",
    summary: "Shows one event that was given up, as it is kept.",
    operands: [.init(name: "ID|PLACE", summary: "the event's id, or its place as the list has it, FILE:LINE")],
    options: [ConfigurationFile.option],
    examples: [.init("event-relay dead-letters show 0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10", "by its event_id")]
  ) { arguments, context async throws(CommandFailure) in
    let wanted = arguments.operands[0]
    return try await withDeadLetters(arguments, context) { reader in
      guard let found = try reader.show(.init(wanted)) else {
        context.output.error("there is no dead letter \(quoted(wanted)); event-relay dead-letters list lists them")
        return .failed
      }
      context.output.print(bytes: found.line + [UInt8(ascii: "\n")])
      return .done
    }
  }

  static let deadLettersExport = Command(
    name: "dead-letters export",
    summary: "Prints the events that were given up as they are kept, one a line.",
    options: filterOptions + [Option("all", nil, "those too that were sent again")],
    examples: [.init("event-relay dead-letters export --app ios > ios.ndjson", "those of one app")]
  ) { arguments, context async throws(CommandFailure) in
    let filter = try DeadLetterQuery(arguments, now: context.clock.now).filter
    return try await withDeadLetters(arguments, context) { reader in
      try reader.export(filter) { line in
        context.output.print(bytes: line)
        return context.output.failure == nil
      }
      return .done
    }
  }

  /// Gives a body the reader of the relay's dead letters, on a thread that may wait for the disk.
  private static func withDeadLetters(
    _ arguments: Arguments, _ context: CommandContext,
    _ body: @escaping @Sendable (DeadLetterReader) throws -> ExitCode
  ) async throws(CommandFailure) -> ExitCode {
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let directory = await context.withClient { await contact.dataDirectory(over: $0) } + "/dead-letters"
    return try await WorkerThread.run { () -> Result<ExitCode, CommandFailure> in
      if access(FileSystem.parent(of: directory), F_OK) != 0, errno == ENOENT {
        context.output.error(
          "\(PrintableText.of(FileSystem.parent(of: directory))) is not there: no relay has run with this configuration yet"
        )
      }
      do {
        return .success(try body(DeadLetterReader(directory: directory)))
      } catch {
        return .failure(CommandFailure("\(error)"))
      }
    }.get()
  }
}
