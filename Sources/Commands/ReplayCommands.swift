import Clocks
import Configuration
import Glibc
import JSON

extension Command {
  private static let rateOption = Option(
    "rate", "N", "at most so many events a second; without it as fast as they are taken")
  private static let dryRunOption = Option("dry-run", nil, "only says how many events are meant")

  static let replay = Command(
    name: "replay",
    summary: "Sends past events to one destination again.",
    details: """
      From what the log still holds (log.retain says how long delivered events stay), or
      from an archive's published files. They are sent beside new events, which they don't
      hold up, and keep their event_id and seq. What the destination is still owed is left
      out: it gets that anyway. Ctrl-C stops it, and the same command goes on. When no
      relay runs, they are put into the destination's queue and sent at the next start.
      """,
    options: [
      ConfigurationFile.option,
      Option("to", "NAME", "the destination: upstream, or a sink; not an archive"),
      Option("from-log", nil, "what is still in the log"),
      Option("from-archive", "DIR", "an archive's directory"),
      Option("since", "TIME", "only those received from then on: 2026-10-23, 2026-10-23T12:00:00Z, or 2h (ago)"),
      Option("until", "TIME", "only those received before then"),
      Option("name", "NAME", "only events of this name"), Option("app", "NAME", "only those of this app"),
      dryRunOption, rateOption, jsonOption,
    ],
    examples: [
      .init("event-relay replay --to hook --from-log --since 2h", "what came in the last two hours"),
      .init("event-relay replay --to upstream --from-archive data/archive --app ios --dry-run", "how many would it be"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    guard let destination = arguments["to"] else { throw .usage("replay wants --to NAME, the destination") }
    var members: [JSONValue.Member] = [.init("to", .string(destination))]
    switch (arguments.flag("from-log"), arguments["from-archive"]) {
    case (true, nil): members.append(.init("from_log", true))
    case (false, let directory?): members.append(.init("from_archive", .string(absolute(directory))))
    default: throw .usage("replay wants either --from-log or --from-archive DIR")
    }
    if let name = arguments["name"] { members.append(.init("names", [.string(name)])) }
    if let app = arguments["app"] { members.append(.init("apps", [.string(app)])) }
    return try await work("/replays", members, arguments, context)
  }

  static let deadLettersReplay = Command(
    name: "dead-letters replay",
    summary: "Sends events that were given up to their destinations again.",
    details: """
      They keep their event_id, and are marked: a second replay leaves them out, and
      dead-letters list shows them with --all. Ctrl-C stops it, and the same command goes
      on. When no relay runs, they are sent at the next start.
      """,
    options: filterOptions + [
      Option(
        "write-key-file", "FILE", "sends them with the key in this file, as events of the app that has it"),
      dryRunOption, rateOption, jsonOption,
    ],
    examples: [
      .init("event-relay dead-letters replay --code invalid_write_key --write-key-file ios.key", "with the right key"),
      .init("event-relay dead-letters replay --destination hook --rate 100", "gently"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    var members = letterMembers(arguments)
    if let path = arguments["write-key-file"] {
      members.append(.init("write_key", .string(try key(in: path))))
    }
    return try await work("/dead-letters/replay", members, arguments, context)
  }

  static let deadLettersDrop = Command(
    name: "dead-letters drop",
    summary: "Removes events that were given up, for good.",
    details: "Asks nothing. Their bytes are gone from the relay's files when it ends.",
    options: filterOptions + [Option("all", nil, "all of them, when no filter is given"), jsonOption],
    examples: [.init("event-relay dead-letters drop --app kiosk --until 30d", "those of one app, older than 30 days")]
  ) { arguments, context async throws(CommandFailure) in
    var members = letterMembers(arguments)
    if members.isEmpty, !arguments.flag("all") {
      throw .usage("dead-letters drop wants a filter that says which, or --all")
    }
    members += try times(arguments, now: context.clock.now, withText: false)
    if arguments.flag("all") { members.append(.init("all", true)) }
    let (body, path) = (JSONValue.object(members), "/dead-letters/drop")
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let answer: JSONValue?
    switch await context.withClient({ await contact.ask("POST", path, body: body, timeout: .seconds(600), over: $0) }) {
    case .success(let value): answer = value
    case .failure(.notRunning):
      let offline = await WorkerThread.run {
        Result { try context.relay.offlineReplay(configuration, path, body) { _ in true } }
      }
      do { answer = try offline.get() } catch { throw CommandFailure(PrintableText.of("\(error)")) }
    case .failure(let problem): throw problem.failure
    }
    guard let answer, let dropped: Int = answer["dropped"]?.integer() else {
      throw CommandFailure("no relay runs, and there are no files of one: nothing can be dropped")
    }
    context.output.print(
      arguments.flag("json")
        ? answer.description : "\(dropped) dead \(dropped == 1 ? "letter" : "letters") dropped")
    let left: Int = answer["left"]?.integer() ?? 0
    if left > 0 {
      context.output.error("\(left) are being written just now, and were left: run the same command again")
    }
    return left == 0 ? .done : .failed
  }

  private static func letterMembers(_ arguments: Arguments) -> [JSONValue.Member] {
    ["destination", "app", "code"].compactMap { name in arguments[name].map { .init(name, .string($0)) } }
  }

  /// `since` and `until` as moments, and as they were written.
  private static func times(
    _ arguments: Arguments, now: Timestamp, withText: Bool = true
  ) throws(CommandFailure) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    for name in ["since", "until"] {
      guard let moment = try DeadLetterQuery.moment(name, arguments, now: now) else { continue }
      members.append(.init(name, .string(moment.description)))
      if withText { members.append(.init("\(name)_text", JSONValue(arguments[name]))) }
    }
    return members
  }

  private static func work(
    _ path: String, _ members: [JSONValue.Member], _ arguments: Arguments, _ context: CommandContext
  ) async throws(CommandFailure) -> ExitCode {
    var members = try members + times(arguments, now: context.clock.now)
    if let rate = try arguments.integer("rate", in: 1...1_000_000) { members.append(.init("rate", JSONValue(rate))) }
    if arguments.flag("dry-run") { members.append(.init("dry_run", true)) }
    return try await ReplayWork(
      context: context, file: try ConfigurationFile(arguments, context), path: path, body: .object(members),
      isDryRun: arguments.flag("dry-run"), isJSON: arguments.flag("json"),
      needsKeys: arguments["write-key-file"] != nil
    ).run()
  }

  /// The relay has another working directory.
  private static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let here = getcwd(nil, 0) else { return path }
    defer { free(here) }
    return "\(String(cString: here))/\(path)"
  }

  private static func key(in path: String) throws(CommandFailure) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .usage("--write-key-file: \(quoted(path)) can't be read: \(systemError())") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .usage("--write-key-file: \(quoted(path)) can't be read: \(systemError())") }
    let key = String(decoding: bytes[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard key.count == 1, key[0].utf8.count <= 512, key[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .usage("--write-key-file: \(quoted(path)) must hold one write key and nothing else")
    }
    return String(key[0])
  }

  private static func systemError() -> String { String(cString: strerror(errno)) }
}
