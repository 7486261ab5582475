import Configuration
import HTTPClient
import JSON
import Synchronization

/// Has past events sent again by the running relay, or puts them into the queues of one that doesn't run, and says how it
/// goes.
struct ReplayWork: Sendable {
  /// Between two questions how it goes.
  private static let interval: Duration = .milliseconds(200)

  let context: CommandContext
  let file: ConfigurationFile
  let path: String
  let body: JSONValue
  let isDryRun: Bool
  let isJSON: Bool
  /// The apps' keys must be known where no relay runs.
  let needsKeys: Bool

  /// Somebody wants it to end.
  private final class Stop: Sendable {
    private let flag = Atomic(false)
    var isWanted: Bool { flag.load(ordering: .relaxed) }
    func want() { flag.store(true, ordering: .relaxed) }
  }

  func run() async throws(CommandFailure) -> ExitCode {
    let stop = Stop()
    let watch = Task {
      await context.waitForStop()
      stop.want()
    }
    defer { watch.cancel() }
    let contact = RelayContact(configuration: try file.loadForAsking(), relay: context.relay)
    let answer = await context.withClient { client -> Result<JSONValue?, CommandFailure> in
      switch await contact.ask("POST", path, body: body, timeout: .seconds(60), over: client) {
      case .failure(.notRunning): return .success(nil)
      case .failure(let problem): return .failure(problem.failure)
      case .success(let answer): return await follow(answer, contact, client, stop).map { $0 }
      }
    }
    if let answer = try answer.get() { return report(answer, isOffline: false) }
    return report(try await offline(stop), isOffline: true)
  }

  /// Asks how it goes until it is over.
  private func follow(
    _ answer: JSONValue, _ contact: RelayContact, _ client: any HTTPSending, _ stop: Stop
  ) async -> Result<JSONValue, CommandFailure> {
    var replays = ReplayAnswer.all(in: answer)
    var values = answer["replays"]?.array ?? [answer]
    let progress = ReplayProgress(context.output)
    defer { progress.clear() }
    while replays.contains(where: { !$0.isOver }) {
      progress.show(replays, isDryRun: isDryRun)
      let wantsStop = stop.isWanted
      for (at, replay) in replays.enumerated() where !replay.isOver {
        let found = await contact.ask(
          wantsStop ? "POST" : "GET", "/replays/\(replay.id)" + (wantsStop ? "/stop" : ""), over: client)
        switch found {
        case .success(let value):
          guard let now = ReplayAnswer(value) else { return .failure(Self.strange) }
          (replays[at], values[at]) = (now, value)
        case .failure(let problem):
          progress.clear()
          return .failure(
            CommandFailure(
              "\(problem.failure.message); \(replay.sent) of \(replay.matched) events were put into the "
                + "queue by then: run the same command to go on"))
        }
      }
      if replays.contains(where: { !$0.isOver }), !stop.isWanted { await context.sleep(Self.interval) }
    }
    progress.show(replays, isDryRun: isDryRun)
    return .success(["replays": .array(values)])
  }

  private static let strange = CommandFailure(
    "the answer at the admin address isn't a relay's; is it another program's?")

  private func offline(_ stop: Stop) async throws(CommandFailure) -> JSONValue {
    // (What protocol an app speaks is known by the whole only. Without its secrets here, the relay's next start tells: it sends
    // no event by another.)
    let configuration: RelayConfiguration
    switch file.read() {
    case .success(let whole): configuration = whole
    case .failure: configuration = needsKeys ? try file.load() : try file.loadForAsking()
    }
    let answer = await WorkerThread.run { [self] in
      let progress = ReplayProgress(context.output)
      defer { progress.clear() }
      return Result {
        try context.relay.offlineReplay(configuration, path, body) { answer in
          progress.show(ReplayAnswer.all(in: answer), isDryRun: isDryRun)
          return !stop.isWanted
        }
      }
    }
    switch answer {
    case .success(let answer?): return answer
    case .success(nil):
      throw CommandFailure(
        "no relay runs, and \(PrintableText.of(configuration.dataDirectory)) holds no relay's files: nothing can be sent"
      )
    case .failure(let error): throw CommandFailure(PrintableText.of("\(error)"))
    }
  }

  private func report(_ answer: JSONValue, isOffline: Bool) -> ExitCode {
    let replays = ReplayAnswer.all(in: answer)
    if isJSON { context.output.print(answer.description) }
    if replays.isEmpty, !isJSON { context.output.print("nothing matches") }
    for replay in replays {
      if isOffline, replay.clamped > 0, !isDryRun {
        context.output.error(ReplayProgress.clampWarning(replay.clamped, of: replay.matched))
      }
      if !isJSON, !replay.isHalted {
        context.output.print(ReplayReport.text(replay, isDryRun: isDryRun, isOffline: isOffline))
      }
      if replay.unreadable > 0 {
        context.output.error("\(replay.unreadable) lines hold no event that can be sent, and were left out")
      }
      if let trouble = ReplayReport.trouble(replay) { context.output.error(trouble) }
    }
    return replays.contains(where: \.isHalted) ? .failed : .done
  }
}

/// What has become of a replay, in sentences.
enum ReplayReport {
  static func text(_ replay: ReplayAnswer, isDryRun: Bool, isOffline: Bool) -> String {
    let name = PrintableText.of(replay.destination)
    guard !isDryRun else {
      let clamped = replay.clamped > 0 ? "; \(replay.clamped) of them are older than 7 days, which it clamps" : ""
      return "\(count(replay.matched)) would be sent to \(name)\(clamped)"
    }
    if isOffline {
      return "\(count(replay.sent)) \(replay.sent == 1 ? "waits" : "wait") for \(name); no relay runs: "
        + "they are sent at its next start"
    }
    let waiting =
      replay.waiting > 0 ? "; \(replay.waiting) of its queue still \(replay.waiting == 1 ? "waits" : "wait")" : ""
    return "\(count(replay.sent)) sent again to \(name)\(waiting)"
  }

  /// What is to be said of one that ended early; nil of others.
  static func trouble(_ replay: ReplayAnswer) -> String? {
    guard replay.isHalted else { return nil }
    let why = replay.error.map { "\(PrintableText.of($0)); " } ?? ""
    return "\(PrintableText.of(replay.destination)): \(why)\(replay.sent) of \(count(replay.matched)), "
      + "run the same command to go on"
  }

  private static func count(_ number: Int) -> String { number == 1 ? "1 event" : "\(number) events" }
}
