import Configuration
import Dialects
import HTTPClient

extension Command {
  static let send = Command(
    name: "send",
    summary: "Sends events from a file to a relay or an upstream.",
    details: """
      FILE holds one event a line (NDJSON), or a request's body {"events":[...]} of any
      length. Events go in requests as the protocol has them: of app-store-operator and
      voidhash at most 100 and 1 MiB, of datalyr one event (several requests at once, one
      person's one after the other) and web batches as they are. A line that is no JSON is
      not sent, nor one that breaks the rules of a protocol whose servers would refuse the
      whole request for it. 429, 5xx and lost connections are tried again, after the
      Retry-After or a growing delay. Prints how many were accepted, rejected and clamped;
      exits with 1 when one was rejected or not sent.
      """,
    operands: [.init(name: "FILE|-", summary: "the file of events, or - for standard input")],
    options: [
      Option("to", "URL", "the base to send to, or unix:/PATH; without it http://127.0.0.1:8787"),
      Option(
        "key", "KEY",
        "the key (X-Write-Key, X-API-Key, token; vh_sk_... in x-secret-key); without it EVENT_RELAY_KEY of the environment, else none. (Others can see it in the list of processes)"
      ),
      protocolOption,
      Option("ca-file", "FILE", "PEM file of the authorities to trust for https; without it the system's"),
      Option("client-certificate", "FILE", "PEM file of a certificate to show to who asks; with --client-key"),
      Option("client-key", "FILE", "PEM file of its key, without a passphrase"),
      Option("retries", "COUNT", "how often one request is tried again, 0 to 100; without it 5"),
      Option("json", nil, "prints one JSON object in place of the summary, every rejected event in it"),
    ],
    examples: [
      .init("event-relay send events.ndjson", "to the relay on this machine"),
      .init("event-relay send --protocol datalyr --key dk_... events.ndjson", "one request an event"),
      .init("EVENT_RELAY_KEY=aso_wk_... event-relay send --to https://relay.example events.json", "to another one"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let dialect = try dialect(arguments)
    var target = try SendTarget(
      arguments["to"] ?? "http://127.0.0.1:8787", dialect,
      key: arguments["key"] ?? context.environment["EVENT_RELAY_KEY"])
    try target.readFiles(arguments)
    let sending = target
    let retries = try arguments.integer("retries", in: 0...100) ?? 5
    let events = try OutgoingEvents(arguments.operands[0], dialect, context)
    return try await context.withClient { client -> Result<ExitCode, CommandFailure> in
      let sender = Sender(
        target: sending, dialect: dialect, retriesMax: retries, client: client, context: context)
      do throws(CommandFailure) {
        try await sender.send(events)
        return .success(try await sender.report(isJSON: arguments.flag("json")))
      } catch {
        return .failure(error)
      }
    }.get()
  }
}

/// Where events are sent, and as whom.
struct SendTarget: Sendable {
  let url: String
  let unixSocket: String?
  /// For messages.
  let shown: String
  /// Empty: none.
  let key: String
  /// The authorities to trust for https; nil: the system's.
  private(set) var authorities: PEMSource?
  private(set) var certificate: ClientCertificate?

  init(_ text: String, _ dialect: any Dialect, key: String?) throws(CommandFailure) {
    if text.hasPrefix("unix:"), text.count > 5 {
      (url, unixSocket, shown) = ("http://localhost", String(text.dropFirst(5)), text)
    } else {
      switch UpstreamBase.parse(text) {
      case .success(let base):
        let base = dialect.outgoing.base(of: base)
        (url, unixSocket, shown) = (base, nil, base)
      case .failure(let fault): throw .usage("--to: \(fault.message)")
      }
    }
    let key = key ?? ""
    guard key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), key.utf8.count <= 512 else {
      throw .usage("the write key holds a space or another character that no key has")
    }
    self.key = key
  }

  /// Takes the files of certificates that the command was given.
  mutating func readFiles(_ arguments: Arguments) throws(CommandFailure) {
    func file(_ option: String) throws(CommandFailure) -> PEMSource? {
      guard let path = arguments[option] else { return nil }
      guard let bytes = PEMFile(path: path, bytes: []).contents else {
        throw .usage("--\(option): \(PrintableText.of(path)) can't be read; name a PEM file that this user may read")
      }
      return PEMSource(bytes)
    }
    authorities = try file("ca-file")
    switch (try file("client-certificate"), try file("client-key")) {
    case (let shown?, let key?): certificate = ClientCertificate(certificate: shown, key: key)
    case (nil, nil): break
    default: throw .usage("--client-certificate and --client-key go together")
    }
    if authorities != nil || certificate != nil, !url.hasPrefix("https://") {
      throw .usage("files of certificates are for --to https://..., and \(shown) is plain")
    }
  }
}
