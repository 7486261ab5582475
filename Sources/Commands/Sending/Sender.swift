import Clocks
import Dialects
import EventsAPI
import HTTPClient
import JSON

/// One run of `send`: its requests, and what became of each event. Where a protocol has one event a request, several requests
/// are under way at once, and never two of one person.
actor Sender {
  /// Lines that are named because they can't be sent; more are only counted.
  private static let unsentShownMax = 10

  private let target: SendTarget
  private let dialect: any Dialect
  private let retriesMax: Int
  private let client: any HTTPSending
  private let context: CommandContext
  private let progress: Progress
  private let listing = AnswerListing()
  private(set) var totals = SendTotals()
  private var hasAnswered = false
  /// Why nothing more is sent.
  private var stopped: String?
  /// A batch that waits for the next round.
  private var kept: OutgoingBatch?

  init(target: SendTarget, dialect: any Dialect, retriesMax: Int, client: any HTTPSending, context: CommandContext) {
    self.target = target
    self.dialect = dialect
    self.retriesMax = retriesMax
    self.client = client
    self.context = context
    progress = Progress(context.output)
  }

  func send(_ events: OutgoingEvents) async throws(CommandFailure) {
    while true {
      let round = try await nextRound(events)
      if round.isEmpty { break }
      try await sendTogether(round)
      progress.show(share: events.share, "\(totals.accepted) accepted, \(totals.rejected) rejected")
    }
    progress.clear()
    if totals.events == 0 { throw CommandFailure("\(events.name) holds no events") }
  }

  /// The batches that may be under way together; none at the end.
  private func nextRound(_ events: OutgoingEvents) async throws(CommandFailure) -> [OutgoingBatch] {
    let width = dialect.outgoing.habits.keepsRequestsApart ? dialect.outgoing.defaults.concurrency : 1
    var round: [OutgoingBatch] = []
    var persons: Set<UInt64> = []
    while round.count < width {
      var batch = kept
      kept = nil
      if batch == nil { batch = try await nextBatch(events) }
      guard let batch else { break }
      if batch.events.isEmpty { continue }
      guard width == 1 || persons.isDisjoint(with: batch.persons) else {
        kept = batch
        break
      }
      persons.formUnion(batch.persons)
      round.append(batch)
    }
    return round
  }

  private func nextBatch(_ events: OutgoingEvents) async throws(CommandFailure) -> OutgoingBatch? {
    let next = try await WorkerThread.run {
      () -> Result<(batch: OutgoingBatch?, unsent: [OutgoingEvents.Unsent]), CommandFailure> in
      Result { () throws(CommandFailure) in try events.next() }
    }.get()
    for unsent in next.unsent { note(unsent) }
    return next.batch
  }

  private func sendTogether(_ round: [OutgoingBatch]) async throws(CommandFailure) {
    let failure = await withTaskGroup(of: CommandFailure?.self) { group in
      for batch in round { group.addTask { await self.failure(of: batch) } }
      var first: CommandFailure?
      for await failure in group { first = first ?? failure }
      return first
    }
    if let failure { throw failure }
  }

  private func failure(of batch: OutgoingBatch) async -> CommandFailure? {
    do throws(CommandFailure) {
      try await send(batch)
      return nil
    } catch {
      return error
    }
  }

  private func note(_ unsent: OutgoingEvents.Unsent) {
    totals.notSent += 1
    if totals.notSent <= Self.unsentShownMax { progress.say(unsent.why) }
    if totals.notSent == Self.unsentShownMax { progress.say("more of these are only counted") }
  }

  /// Sends a batch, in halves when it is too large for the other side.
  private func send(_ batch: OutgoingBatch) async throws(CommandFailure) {
    guard stopped == nil else { return totals.notSent += batch.events.count }
    let request = batch.request(dialect, key: target.key, now: context.clock.now)
    guard request.count == batch.events.count else {
      // Not all of them have room in one request.
      let (first, rest) = batch.split(max(request.count, 1))
      try await send(first)
      return try await send(rest)
    }
    var failed = FailedTries(count: 0)
    while true {
      let (verdict, failure) = await post(request)
      switch verdict {
      case .delivered(let receipt): return try note(receipt, batch)
      case .tooLarge(let code, let message): return try await halve(batch, 413, code ?? "too_large", message ?? "")
      case .badRequest(let code, let message): return try await halve(batch, 400, code, message)
      case .refused(let status, let code, let message):
        if [400, 413, 422].contains(status), try reject(batch, code, message) { return }
        return stop(batch, "refused with HTTP \(status) \(code): \(message)")
      case .retry(_, .foreign(let status)):
        return stop(batch, "what answers there is no relay or upstream: HTTP \(status) without the API's own body")
      case .retry(let after, let reason):
        let words = Self.words(reason)
        guard failed.count < retriesMax else {
          return stop(batch, "still \(words) after \(failed.count + 1) attempts")
        }
        await wait(&failed, after, isRateLimited: reason == .rateLimited, words)
      case nil:
        guard hasAnswered else { return stop(batch, "\(failure); is anything running there?") }
        guard failed.count < retriesMax else { return stop(batch, "\(failure), after \(failed.count + 1) attempts") }
        await wait(&failed, nil, isRateLimited: false, failure)
      }
    }
  }

  /// The verdict on one request; when no answer came, why.
  private func post(_ request: OutgoingBatch.Request) async -> (verdict: UpstreamVerdict?, failure: String) {
    totals.requests += 1
    let answer = await client.send(
      HTTPClientRequest(
        url: target.url + request.path, headers: request.headers, body: request.body, timeout: .seconds(60),
        caFile: target.authorities, clientCertificate: target.certificate, unixSocket: target.unixSocket))
    switch answer {
    case .failure(let failure): return (nil, PrintableText.of("no answer: \(failure)"))
    case .success(let answer):
      hasAnswered = true
      let verdict = dialect.outgoing.judge(
        UpstreamAnswer(
          status: answer.status, retryAfter: answer.values(of: "retry-after"), body: answer.body,
          isBodyCut: answer.isBodyCut, sentEvents: request.count, now: context.clock.now))
      return (verdict, "")
    }
  }

  /// As the protocol waits, though a person at a terminal isn't made to wait as long as a relay's events may.
  private func wait(
    _ failed: inout FailedTries, _ asked: RetryAfter?, isRateLimited: Bool, _ why: String
  ) async {
    failed.count += 1
    failed.rateLimited += isRateLimited ? 1 : 0
    failed.isRateLimited = isRateLimited
    failed.asked = asked
    failed.roll = Double.random(in: 0..<1)
    var retry = dialect.outgoing.defaults.retry
    retry.initial = min(retry.initial, .seconds(1))
    retry.max = min(retry.max, .seconds(30))
    let delay = dialect.outgoing.wait(after: failed, retry)
    let seconds = (delay / .milliseconds(100)).rounded(.up) / 10
    progress.say("\(target.shown): \(why); trying again in \(seconds) s")
    await context.sleep(delay)
  }

  /// Sends the halves of a batch that the other side can't take; a lone event is rejected, or everything ends.
  private func halve(
    _ batch: OutgoingBatch, _ status: Int, _ code: String, _ message: String
  ) async throws(CommandFailure) {
    if let halves = batch.halves {
      try await send(halves.0)
      return try await send(halves.1)
    }
    if try reject(batch, code, message) { return }
    stop(batch, "the request was refused as too large or not well formed")
  }

  /// Takes a lone event's refusal for its rejection; false where servers have a better way to reject it, so that something
  /// else is wrong.
  private func reject(_ batch: OutgoingBatch, _ code: String, _ message: String) throws(CommandFailure) -> Bool {
    guard !dialect.incoming.judgesEventsApart, batch.events.count == 1, let event = batch.events.first else {
      return false
    }
    totals.reject(code)
    try listing.reject(index: event.place, eventIDToken: idToken(0, batch), code: code, message: message)
    return true
  }

  private func note(_ receipt: BatchReceipt, _ batch: OutgoingBatch) throws(CommandFailure) {
    totals.accepted += batch.events.count - receipt.rejected.count - receipt.unnamedRejections
    totals.unnamed += receipt.unnamedRejections
    totals.reject("not told which", receipt.unnamedRejections)
    totals.clamped += receipt.clamped.count
    for rejected in receipt.rejected {
      totals.reject(rejected.code)
      try listing.reject(
        index: batch.events[rejected.index].place, eventIDToken: idToken(rejected.index, batch), code: rejected.code,
        message: rejected.message)
    }
    for position in receipt.clamped {
      try listing.clamp(index: batch.events[position].place, eventID: id(position, batch))
    }
  }

  private func id(_ position: Int, _ batch: OutgoingBatch) -> String? {
    guard let whole = batch.whole else { return batch.events[position].bytes.withUnsafeBytes(dialect.eventID) }
    guard let events = (try? JSONValue(parsing: whole))?["events"]?.array, position < events.count else { return nil }
    return dialect.eventID(of: events[position])
  }

  private func idToken(_ position: Int, _ batch: OutgoingBatch) -> [UInt8]? {
    id(position, batch).map { JSONValue.string($0).utf8 }
  }

  private func stop(_ batch: OutgoingBatch, _ why: String) {
    totals.notSent += batch.events.count
    stopped = PrintableText.of("\(target.shown): \(why)")
  }

  private static func words(_ reason: RetryReason) -> String {
    switch reason {
    case .rateLimited: "asked to wait (HTTP 429)"
    case .serverError(let status), .foreign(let status): "in trouble (HTTP \(status))"
    }
  }

  /// Prints what became of the events.
  func report(isJSON: Bool) throws(CommandFailure) -> ExitCode {
    if isJSON {
      var more: [JSONValue.Member] = [
        .init("not_sent", JSONValue(totals.notSent)), .init("requests", JSONValue(totals.requests)),
      ]
      if totals.unnamed > 0 { more.append(.init("rejected_unnamed", JSONValue(totals.unnamed))) }
      try listing.print(accepted: totals.accepted, more, to: context.output)
    } else {
      context.output.print(totals.text, terminator: "")
    }
    if let stopped {
      context.output.error(stopped)
      if totals.accepted > 0 {
        context.output.error("nothing was sent after that; what counts as accepted is stored there")
      }
    }
    return totals.rejected == 0 && totals.notSent == 0 && stopped == nil ? .done : .failed
  }
}
