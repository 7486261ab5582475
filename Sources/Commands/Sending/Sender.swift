import Clocks
import EventsAPI
import HTTPClient
import JSON

/// One run of `send`: requests one after the other, and what became of each event.
///
/// Unchecked because one task owns it, which waits for each of its steps.
final class Sender: @unchecked Sendable {
  /// Lines that are named because they can't be sent; more are only counted.
  private static let unsentShownMax = 10

  private let target: SendTarget
  private let retriesMax: Int
  private let client: any HTTPSending
  private let context: CommandContext
  private let progress: Progress
  private let listing = AnswerListing()
  private(set) var totals = SendTotals()
  private var hasAnswered = false
  /// Why nothing more is sent.
  private var stopped: String?

  init(target: SendTarget, retriesMax: Int, client: any HTTPSending, context: CommandContext) {
    self.target = target
    self.retriesMax = retriesMax
    self.client = client
    self.context = context
    progress = Progress(context.output)
  }

  func send(_ events: OutgoingEvents) async throws(CommandFailure) {
    while true {
      let next = try await WorkerThread.run {
        () -> Result<(batch: OutgoingBatch?, unsent: [OutgoingEvents.Unsent]), CommandFailure> in
        Result { () throws(CommandFailure) in try events.next() }
      }.get()
      for unsent in next.unsent { note(unsent) }
      guard let batch = next.batch else { break }
      if batch.indexes.isEmpty { continue }
      try await send(batch)
      progress.show(share: events.share, "\(totals.accepted) accepted, \(totals.rejected) rejected")
    }
    progress.clear()
    if totals.events == 0 { throw CommandFailure("\(events.name) holds no events") }
  }

  private func note(_ unsent: OutgoingEvents.Unsent) {
    totals.notSent += 1
    if totals.notSent <= Self.unsentShownMax { progress.say(unsent.why) }
    if totals.notSent == Self.unsentShownMax { progress.say("more of these are only counted") }
  }

  /// Sends a batch, in halves when it is too large for the other side.
  private func send(_ batch: OutgoingBatch) async throws(CommandFailure) {
    guard stopped == nil else { return totals.notSent += batch.indexes.count }
    var schedule = RetrySchedule(initial: .seconds(1), max: .seconds(30))
    for attempt in 0...retriesMax {
      switch await post(batch) {
      case .delivered(let receipt): return try note(receipt, batch)
      case .tooLarge, .badRequest:
        if let halves = batch.halves {
          try await send(halves.0)
          return try await send(halves.1)
        }
        return stop(batch, "the request was refused as too large or not well formed")
      case .refused(let status, let code, let message):
        return stop(batch, "refused with HTTP \(status) \(code): \(message)")
      case .retry(_, .foreign(let status)):
        return stop(batch, "what answers there is no relay or upstream: HTTP \(status) without the API's own body")
      case .retry(let after, let reason):
        guard attempt < retriesMax else {
          return stop(batch, "still \(Self.words(reason)) after \(attempt + 1) attempts")
        }
        let delay = schedule.delay(
          retryAfter: after, isRateLimited: reason == .rateLimited, roll: Double.random(in: 0..<1))
        await wait(delay, Self.words(reason))
      case nil:
        guard hasAnswered else { return stop(batch, "\(lastFailure); is anything running there?") }
        guard attempt < retriesMax else { return stop(batch, "\(lastFailure), after \(attempt + 1) attempts") }
        await wait(schedule.delay(roll: Double.random(in: 0..<1)), lastFailure)
      }
    }
  }

  private var lastFailure = ""

  /// The verdict on one request; nil when no answer came.
  private func post(_ batch: OutgoingBatch) async -> UpstreamVerdict? {
    totals.requests += 1
    let answer = await client.send(
      HTTPClientRequest(
        url: target.url + APIRoute.events.path, headers: target.headers, body: RequestBody(batch.body),
        timeout: .seconds(60), unixSocket: target.unixSocket))
    switch answer {
    case .failure(let failure):
      lastFailure = PrintableText.of("no answer: \(failure)")
      return nil
    case .success(let answer):
      hasAnswered = true
      return .judge(
        status: answer.status, retryAfter: answer.values(of: "retry-after"), body: answer.body,
        isBodyCut: answer.isBodyCut, sentEvents: batch.indexes.count, route: .events, now: context.clock.now)
    }
  }

  private func wait(_ delay: Duration, _ why: String) async {
    let seconds = (delay / .milliseconds(100)).rounded(.up) / 10
    progress.say("\(target.shown): \(why); trying again in \(seconds) s")
    await context.sleep(delay)
  }

  private func note(_ receipt: BatchReceipt, _ batch: OutgoingBatch) throws(CommandFailure) {
    totals.accepted += batch.indexes.count - receipt.rejected.count
    totals.clamped += receipt.clamped.count
    for rejected in receipt.rejected {
      totals.reject(rejected.code)
      try listing.reject(
        index: batch.indexes[rejected.index], eventIDToken: idToken(rejected.index, batch), code: rejected.code,
        message: rejected.message)
    }
    for position in receipt.clamped {
      try listing.clamp(index: batch.indexes[position], eventID: id(position, batch))
    }
  }

  private func id(_ position: Int, _ batch: OutgoingBatch) -> String? {
    guard let event = event(position, batch) else { return nil }
    return event["event_id"]?.string
  }

  private func idToken(_ position: Int, _ batch: OutgoingBatch) -> [UInt8]? {
    id(position, batch).map { JSONValue.string($0).utf8 }
  }

  private func event(_ position: Int, _ batch: OutgoingBatch) -> JSONValue? {
    guard let whole = batch.whole else { return try? JSONValue(parsing: batch.events[position]) }
    guard let events = (try? JSONValue(parsing: whole))?["events"]?.array, position < events.count else { return nil }
    return events[position]
  }

  private func stop(_ batch: OutgoingBatch, _ why: String) {
    totals.notSent += batch.indexes.count
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
      try listing.print(
        accepted: totals.accepted,
        [.init("not_sent", JSONValue(totals.notSent)), .init("requests", JSONValue(totals.requests))],
        to: context.output)
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
