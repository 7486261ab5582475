import Clocks
import Configuration
import Dialects
import HTTPServer
import Observability
import StandIn

extension Command {
  static let upstream = Command(
    name: "upstream",
    summary: "Runs a stand-in for the upstream, to try a relay against.",
    details: """
      Obeys the whole of a protocol, or of all on one port: routes, validation, one copy
      of each event, answers in the protocol's own form; and what the protocol has of
      clamping, limits a minute, 500 event names and a monthly quota. GET /events lists
      what it stored, GET /stats counts, each by protocol. Every key that isn't empty is
      let in, where the protocol wants it. Ends with SIGTERM or SIGINT.
      """,
    options: [
      Option("listen", "A:P", "the address to listen on; without it 127.0.0.1:8789; port 0: a free one"),
      Option(
        "protocol", "NAME",
        "what it speaks: \(protocolNames), or all of them on one port with all; without it "
          + DialectRegistry.usual.name),
      Option("data", "DIR", "keeps what it stores there; without it in memory, and only the latest"),
      Option(
        "fail", "STATUS[:COUNT]",
        "answers 400 to 599 in place of the API's own answer, to the next COUNT requests or to all"),
      Option("retry-after", "S", "Retry-After of forced failures of 429 and 5xx, in seconds; without it none is sent"),
      Option("latency", "DURATION", "delays every answer, at most 10m; without it 0s"),
      Option(
        "limiter", "KIND",
        "how events or requests are counted against the limits a minute: sliding (any 60 seconds), "
          + "fixed (a minute of the clock), bucket (refilled evenly) or none; without it sliding"),
      Option(
        "events-per-minute", "COUNT", "events a minute of one key, of protocols that limit those; without it 10000"),
      Option("per-install-per-minute", "COUNT", "events a minute of one install of a key, likewise; without it 300"),
      Option(
        "requests-per-minute", "COUNT",
        "requests a minute of one key, of protocols that limit those (datalyr); without it 100"),
      Option("minute", "DURATION", "how long the limits' minute is, to try them in less time; without it 60s"),
      Option("quota", "COUNT", "events a month of all keys together; past 110 % of it 403; without it no end"),
    ],
    examples: [
      .init("event-relay upstream --listen 127.0.0.1:8789", "with upstream.url: http://127.0.0.1:8789 in a relay"),
      .init("event-relay upstream --protocol all", "for apps of every protocol"),
      .init("event-relay upstream --fail 503:3 --retry-after 2", "three failures, then all is well"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let server = StandInServer(
      try standInConfiguration(arguments),
      logger: Logger(clock: context.clock) { line in
        context.output.error(String(decoding: line, as: UTF8.self), terminator: "")
      })
    try await WorkerThread.run { () -> Result<Void, CommandFailure> in
      do throws(StandInError) {
        return .success(try server.start())
      } catch {
        return .failure(CommandFailure(error.description))
      }
    }.get()
    // The address ends the line, so that scripts find it.
    if let address = server.address { context.output.error("the stand-in upstream listens at \(address)") }
    await context.waitForStop()
    await server.stop()
    return .done
  }

  private static func standInConfiguration(_ arguments: Arguments) throws(CommandFailure) -> StandInConfiguration {
    let listen: ListenAddress
    switch RelayConfiguration.Address.parse(arguments["listen"] ?? "127.0.0.1:8789") {
    case .success(.tcp(let host, let port)): listen = .tcp(host: host, port: port)
    case .success(.unix(let path)): listen = .unix(path: path)
    case .failure(let fault): throw .usage("--listen: \(fault.message)")
    }
    var configuration = StandInConfiguration(listen: listen, dataDirectory: arguments["data"])
    if let text = arguments["protocol"] {
      configuration.protocols = try text == "all" ? DialectRegistry.all : [dialect(text, orAll: true)]
    }
    if let text = arguments["fail"] {
      guard let failure = ForcedFailure(text) else {
        throw .usage("--fail wants a status from 400 to 599, or with a count as in 503:3, not \(quoted(text))")
      }
      configuration.failure = failure
    }
    if let text = arguments["limiter"] {
      guard let kind = LimiterKind(rawValue: text) else {
        let kinds = LimiterKind.allCases.map(\.rawValue)
        let meant = Spelling.nearest(to: text, among: kinds).map { "; did you mean \($0)?" } ?? ""
        throw .usage("--limiter wants \(kinds.joined(separator: ", ")), not \(quoted(text))\(meant)")
      }
      configuration.limiter = kind
    }
    let counts = 1...100_000_000
    configuration.keyEventsPerMinute = try arguments.integer("events-per-minute", in: counts)
    configuration.installEventsPerMinute = try arguments.integer("per-install-per-minute", in: counts)
    configuration.keyRequestsPerMinute = try arguments.integer("requests-per-minute", in: counts)
    configuration.minute = try arguments.duration("minute", in: .milliseconds(100) ... .seconds(60)) ?? .seconds(60)
    configuration.retryAfter = try arguments.integer("retry-after", in: 0...86_400)
    configuration.latency = try arguments.duration("latency", in: .zero ... .seconds(600)) ?? .zero
    configuration.monthlyQuota = try arguments.integer("quota", in: 0...1_000_000_000_000)
    return configuration
  }
}
