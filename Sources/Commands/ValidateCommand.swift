import Clocks
import Dialects
import EventsAPI

extension Command {
  static let validate = Command(
    name: "validate",
    summary: "Checks events against a protocol's rules, offline.",
    details: """
      FILE holds one event a line (NDJSON), or a request's body {"events":[...]}.
      Prints what the API would answer, an entry a line; "index" counts from 0,
      over the whole file. Of protocols that refuse whole requests a line's entry has
      the answer that a request of that event alone would get, and a body's is its own.
      Exits with 1 when an event, or the body, is rejected. What only the upstream
      knows (keys, 500 names an app, rates, quota) isn't checked.
      """,
    operands: [.init(name: "FILE|-", summary: "the file of events, or - for standard input")],
    options: [protocolOption],
    examples: [
      .init("event-relay validate events.ndjson", "a file of any size"),
      .init("event-relay validate --protocol voidhash batch.json", "what Voidhash would say to a batch"),
      .init("head -n 1 events.ndjson | event-relay validate -", "one event from a pipe"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let operand = arguments.operands[0]
    let dialect = try dialect(arguments)
    return try await WorkerThread.run { () -> Result<ExitCode, CommandFailure> in
      Result { () throws(CommandFailure) in
        let input = try InputFile(operand, standardInput: context.standardInput)
        // (The first protocol's answers name each event, clamped ones too.)
        return dialect is AppStoreOperator
          ? try Validation(input, context).run() : try RequestValidation(input, dialect, context).run()
      }
    }.get()
  }
}

/// One run of `validate`.
private final class Validation {
  private let input: InputFile
  private let context: CommandContext
  private let reader = EventsReader()
  private let listing = AnswerListing()
  private let progress: Progress
  private var accepted = 0
  private var rejected = 0
  private var clamped = 0

  init(_ input: InputFile, _ context: CommandContext) {
    self.input = input
    self.context = context
    progress = Progress(context.output)
  }

  func run() throws(CommandFailure) -> ExitCode {
    let head = try input.head(EventsLimits.bodyBytesMax)
    switch InputShape(head: head.bytes) {
    case .lines: try lines()
    case .event where !head.isAll: try lines()
    case .event: try body(head.bytes) { reader.readEvent($0, receivedAt: context.clock.now) }
    case .batch, .array:
      guard head.isAll else { return refuse(.payloadTooLarge) }
      var refusal: APIError?
      try body(head.bytes) {
        refusal = reader.readBatch($0, receivedAt: context.clock.now)
        return refusal
      }
      if let refusal { return refuse(refusal) }
    }
    progress.clear()
    try listing.print(accepted: accepted, to: context.output)
    context.output.error(
      accepted + rejected == 0
        ? "\(input.name) holds no events"
        : "\(accepted) accepted, \(clamped) of them clamped; \(rejected) rejected")
    return rejected == 0 ? .done : .failed
  }

  /// The body as a whole is refused: the answer is the API's error.
  private func refuse(_ error: APIError) -> ExitCode {
    context.output.print(String(decoding: error.body, as: UTF8.self))
    return .failed
  }

  private func body(
    _ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) -> APIError?
  ) throws(CommandFailure) {
    // What the reader may touch past the end.
    let padded = bytes + [UInt8](repeating: 0, count: 64)
    let refusal = padded.withUnsafeBytes { read(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count])) }
    if let refusal { return try reject(0, notJSON: refusal) }
    try take(firstIndex: 0)
  }

  private func lines() throws(CommandFailure) {
    let lines = LineReader(input)
    var index = 0
    while let line = try lines.next() {
      if let bytes = line.bytes {
        if let refusal = reader.readEvent(bytes, receivedAt: context.clock.now) {
          try reject(index, notJSON: refusal)
        } else {
          try take(firstIndex: index)
        }
      } else {
        rejected += 1
        try listing.reject(
          index: index, eventIDToken: nil, code: RejectionCode.eventTooLarge.rawValue,
          message: "The line is over \(LineReader.lineBytesMax) bytes.")
      }
      index += 1
      if index % 1000 == 0 { progress.show(share: input.share, "\(index) events, \(rejected) rejected") }
    }
  }

  private func reject(_ index: Int, notJSON refusal: APIError) throws(CommandFailure) {
    rejected += 1
    // The reader's words are about a request's body; here it is a line.
    let message = refusal.message.hasPrefix("The body ") ? "The line " + refusal.message.dropFirst(9) : refusal.message
    try listing.reject(index: index, eventIDToken: nil, code: RejectionCode.invalidEvent.rawValue, message: message)
  }

  private func take(firstIndex: Int) throws(CommandFailure) {
    accepted += reader.accepted.count
    rejected += reader.rejected.count
    clamped += reader.clamped.count
    for rejection in reader.rejected {
      try listing.reject(
        index: firstIndex + rejection.index, eventIDToken: rejection.eventIDToken, code: rejection.code.rawValue,
        message: rejection.message)
    }
    for event in reader.clamped { try listing.clamp(index: firstIndex + event.index, eventID: event.eventID) }
  }
}
