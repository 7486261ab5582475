import Clocks
import Dialects
import EventsAPI

/// One run of `validate` for a protocol whose servers refuse whole requests.
final class RequestValidation {
  private let input: InputFile
  private let context: CommandContext
  private let judge: EventJudge
  private let listing = AnswerListing()
  private let progress: Progress
  private var accepted = 0
  private var rejected = 0

  init(_ input: InputFile, _ dialect: any Dialect, _ context: CommandContext) {
    self.input = input
    self.context = context
    judge = EventJudge(dialect)
    progress = Progress(context.output)
  }

  func run() throws(CommandFailure) -> ExitCode {
    let bodyMax = judge.dialect.incoming.batchRoute.bodyBytesMax
    let head = try input.head(bodyMax)
    switch InputShape(head: head.bytes) {
    case .lines: try lines()
    case .event where !head.isAll: try lines()
    case .event: try take(0, head.bytes)
    case .batch, .array: return body(head.bytes, isAll: head.isAll)
    }
    progress.clear()
    try listing.print(accepted: accepted, to: context.output)
    context.output.error(
      accepted + rejected == 0 ? "\(input.name) holds no events" : "\(accepted) accepted; \(rejected) rejected")
    return rejected == 0 ? .done : .failed
  }

  /// Prints the answer that a request with the body would get.
  private func body(_ bytes: [UInt8], isAll: Bool) -> ExitCode {
    let incoming = judge.dialect.incoming
    let refusal =
      isAll
      ? judge.refusal(ofBody: bytes, at: context.clock.now)
      : .payloadTooLarge(bytesMax: incoming.batchRoute.bodyBytesMax)
    let answer = refusal.map(incoming.answer) ?? judge.reader.answer()
    context.output.print(String(decoding: answer.body, as: UTF8.self))
    let events = judge.reader.accepted.count
    context.output.error(
      refusal == nil ? "HTTP \(answer.status): \(events) accepted" : "HTTP \(answer.status): nothing of it is taken")
    return refusal == nil && judge.reader.rejectedCodes.isEmpty ? .done : .failed
  }

  private func lines() throws(CommandFailure) {
    let lines = LineReader(input)
    var index = 0
    while let line = try lines.next() {
      if let bytes = line.bytes {
        try take(index, Array(bytes))
      } else {
        try reject(index, nil, .payloadTooLarge(bytesMax: LineReader.lineBytesMax))
      }
      index += 1
      if index % 1000 == 0 { progress.show(share: input.share, "\(index) events, \(rejected) rejected") }
    }
  }

  private func take(_ index: Int, _ event: [UInt8]) throws(CommandFailure) {
    guard let refusal = event.withUnsafeBytes({ judge.refusal(ofEvent: $0, at: context.clock.now) }) else {
      return accepted += 1
    }
    try reject(index, event.withUnsafeBytes { judge.dialect.eventID(of: $0) }, refusal)
  }

  private func reject(_ index: Int, _ eventID: String?, _ refusal: APIError) throws(CommandFailure) {
    rejected += 1
    try listing.refuse(index: index, eventID: eventID, judge.dialect.incoming.answer(refusal))
  }
}
