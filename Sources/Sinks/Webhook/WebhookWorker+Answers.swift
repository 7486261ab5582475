import Clocks
import DeadLetters
import EventLog
import HTTPClient
import Observability
import Records

extension WebhookWorker {
  /// Takes an answer, or its absence.
  func take(
    _ result: Result<HTTPAnswer, TransportFailure>, of flight: WebhookFlight, _ now: ContinuousClock.Instant
  ) {
    let verdict = WebhookVerdict.judge(withoutSecrets(result), now: clock.now)
    metrics.count(verdict.outcome, took: now - flight.began)
    let before = state
    let consequence = state.answered(verdict, options.retry, now: now, wallNow: clock.now, roll: roll())
    if let detail = state.notice?.detail { lastError = detail }
    // Waits are on record at once; a delivery soon enough.
    if consequence != .delivered {
      recordBounds()
      needsCommit = true
    }
    tell(verdict, consequence, before, now)
    switch consequence {
    case .delivered: settle(.delivered)
    case .kept: phase = .ready(id: flight.id)
    case .buried(let burial): phase = .burying(burial)
    }
  }

  /// Writes the batch to the dead letters, syncs them, and takes it off what the sink is owed.
  func bury(_ burial: WebhookBurial) throws(WebhookFailure) {
    let mark = try deadLetters { (store) throws(FileError) in try store.prepare(context.name) }
    if committedDeadLetters?.isSameFile(as: mark) != true {
      // A file is on record before its first line, so that after a crash it is found and cut back.
      record?.deadLetters = mark
      try commit()
    }
    let lines = RecordLines(relay: context.relay, capacity: body.bytes.count * 2)
    body.appendDeadLetters(
      to: lines,
      DeadLetterDetails(
        destination: context.name, reason: burial.reason, status: burial.status, code: nil, message: burial.message,
        attempts: burial.attempts, at: clock.now))
    record?.deadLetters = try deadLetters { (store) throws(FileError) in
      try store.append(context.name, lines: lines)
    }
    settle(burial.reason)
    try commit()
  }

  func deadLetters<Value>(
    _ use: (DeadLetterStore) throws(FileError) -> Value
  ) throws(WebhookFailure) -> Value {
    do throws(FileError) {
      return try use(context.deadLetters)
    } catch {
      throw .deadLetters(error)
    }
  }

  private func settle(_ outcome: Outcome) {
    reader.acknowledge(outcome)
    // What was read and found no room in the body comes with the next one.
    if reader.hasUnacknowledged { reader.rewind() }
    record?.batch = nil
    body.removeAll()
    lingerUntil = nil
    phase = .gathering
    hasSettled = true
  }

  /// Makes what is acknowledged durable, with the batch at the front and how its sending goes.
  func commit() throws(WebhookFailure) {
    guard record != nil else { return }
    record?.trying = state.record(wallNow: clock.now)
    do throws(LogError) {
      try context.subscription.commit(attachment: record?.json)
    } catch {
      throw .log(error)
    }
    committedDeadLetters = record?.deadLetters
    noteCommit()
  }

  /// Nothing of what a receiver says goes to the log: it may quote events.
  private func tell(
    _ verdict: WebhookVerdict, _ consequence: WebhookState.Consequence, _ before: WebhookState,
    _ now: ContinuousClock.Instant
  ) {
    let detail = state.notice?.detail ?? ""
    switch consequence {
    case .delivered:
      if before.failures > 0 { logger.info("the receiver takes events again", about: context.name) }
    case .kept where state.isGone:
      logger.error("nothing is sent any more", about: context.name, ["reason": .text(detail)])
    case .kept:
      let wait = state.mayAttempt(at: now).map { ($0 - now).seconds } ?? 0
      let fields: KeyValuePairs<String, LogValue> = ["reason": .text(detail), "retry_in": .seconds(wait)]
      if before.failures == 0 || before.isOpen != state.isOpen {
        logger.warning("the receiver takes nothing; events wait", about: context.name, fields)
      } else {
        logger.info("events wait for another try", about: context.name, fields)
      }
    case .buried(let burial):
      logger.warning(
        "a batch goes to the dead letters", about: context.name,
        [
          "reason": .text(burial.reason.rawValue), "status": .integer(burial.status ?? 0),
          "events": .integer(body.count),
        ])
    }
  }

  /// The other side's words, should they repeat a secret of ours, without it.
  private func withoutSecrets(
    _ result: Result<HTTPAnswer, TransportFailure>
  ) -> Result<HTTPAnswer, TransportFailure> {
    switch result {
    case .success(var answer):
      guard !(200...299).contains(answer.status) else { return result }
      answer.body = Array(withoutSecrets(String(decoding: answer.body, as: UTF8.self)).utf8)
      return .success(answer)
    case .failure(var failure):
      failure.description = withoutSecrets(failure.description)
      return .failure(failure)
    }
  }

  /// (What is shorter is no secret, and may be a word.)
  private static var secretBytesMin: Int { 8 }

  private func withoutSecrets(_ words: String) -> String {
    let secrets = options.secrets.map(\.text) + options.headers.map(\.value.revealed)
    return secrets.reduce(words) { words, secret in
      guard secret.utf8.count >= Self.secretBytesMin, words.contains(secret) else { return words }
      return words.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "(secret)")
    }
  }
}
