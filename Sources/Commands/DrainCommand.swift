import Configuration
import HTTPClient
import JSON

extension Command {
  static let drain = Command(
    name: "drain",
    summary: "Has the relay take no more events in and send what waits, before it is taken away.",
    details: """
      Asks the running relay. From then on senders get 503 and /readyz says 503, until the
      relay is started again or --stop is given. Skips upstream.linger, but no delay that an
      upstream asked for or that follows a failure. Exits with 0 when nothing waits any more,
      for any destination, and with 1 when something still does: the relay goes on sending
      it, and takes no events in.
      """,
    options: [
      ConfigurationFile.option,
      Option("timeout", "DURATION", "how long it may take, at most 24h; without it 5m"),
      Option("stop", nil, "has the relay take events in again"),
      Option("json", nil, "prints JSON in place of a sentence"),
    ],
    examples: [
      .init("event-relay drain --timeout 10m", "before a machine goes away"),
      .init("event-relay drain --stop", "when it stays after all"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let timeout = try arguments.duration("timeout", in: .zero ... .seconds(24 * 3600)) ?? .seconds(300)
    let configuration = try ConfigurationFile(arguments, context).loadForAsking()
    let contact = RelayContact(configuration: configuration, relay: context.relay)
    let isStopped = arguments.flag("stop")
    let progress = Progress(context.output)
    let answer = await context.withClient { client in
      isStopped
        ? await contact.ask("POST", "/drain?stop", over: client).flatMap(DrainState.read)
        : await Drain(contact: contact, client: client, progress: progress).run(for: timeout)
    }
    progress.clear()
    let state: DrainState
    switch answer {
    case .success(let answer): state = answer
    case .failure(let problem): throw problem.failure
    }
    if arguments.flag("json") {
      context.output.print(state.json.description)
    } else if isStopped {
      context.output.print("the relay takes events in again")
    } else {
      context.output.print(state.sentence)
    }
    if isStopped || state.isDone { return .done }
    context.output.error("event-relay status says what the rest waits for")
    return .failed
  }
}

/// How a drained relay stands.
struct DrainState: Sendable {
  var json: JSONValue
  /// Events that wait, over all destinations.
  var pending: Int
  /// Requests that were let in before.
  var requests: Int

  var isDone: Bool { pending == 0 && requests == 0 }

  var sentence: String {
    if isDone { return "nothing waits any more" }
    let destinations = (json["destinations"]?.members ?? []).compactMap { member in
      member.value.integer(as: Int.self).flatMap { $0 > 0 ? "\($0) for \(PrintableText.of(member.key))" : nil }
    }
    let open = requests == 0 ? [] : ["\(requests) \(requests == 1 ? "request" : "requests") still open"]
    return "\(pending) still waiting: " + (destinations + open).joined(separator: ", ")
  }

  static func read(_ value: JSONValue) -> Result<DrainState, RelayContact.Problem> {
    guard let pending = value["pending"]?.integer(as: Int.self), let requests = value["requests"]?.integer(as: Int.self)
    else { return .failure(.failed("the answer at the admin address isn't a relay's; is it another program's?")) }
    return .success(DrainState(json: value, pending: pending, requests: requests))
  }
}

/// Asks a relay to drain, a bit at a time, until it has or the time is up.
private struct Drain: Sendable {
  /// How long the relay tries before it says how it stands.
  static let step: Duration = .seconds(1)

  let contact: RelayContact
  let client: any HTTPSending
  let progress: Progress

  func run(for timeout: Duration) async -> Result<DrainState, RelayContact.Problem> {
    let deadline = ContinuousClock.now + timeout
    var most = 0
    while true {
      let step = min(Self.step, max(.zero, deadline - .now))
      let answer = await contact.ask(
        "POST", "/drain?timeout=\(Int(step / .milliseconds(1)))ms", timeout: step + .seconds(10), over: client
      ).flatMap(DrainState.read)
      guard case .success(let state) = answer, !state.isDone, .now < deadline else { return answer }
      most = max(most, state.pending)
      progress.show(
        share: most == 0 ? nil : Double(most - state.pending) / Double(most), "\(state.pending) events still waiting")
    }
  }
}
