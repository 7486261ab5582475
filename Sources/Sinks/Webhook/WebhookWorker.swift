import Clocks
import DeadLetters
import EventLog
import HTTPClient
import Observability
import Records

/// Posts a webhook's events, a batch at a time and in order: what the sink's thread does, without the thread.
///
/// At least once, each batch under one id: before its first attempt it is on record which events a batch holds, by its
/// bounds or by the rule that it was cut by (see ``WebhookPlan``); whoever takes it up after a crash reads the same events
/// and makes the same bytes of them. See ``WebhookState`` for when it is tried again, and <doc:Webhook> for what a receiver
/// sees.
///
/// Not thread-safe; lives on the sink's thread. Never waits for the network: an answer wakes the thread.
final class WebhookWorker: SinkWorker {
  /// Bytes of a request's body; a single event that needs more is sent all the same.
  static let bodyBytesMax = 1 << 20
  /// A body of so many bytes is full: few events would still fit.
  static let bodyBytesEnough = bodyBytesMax - 64 * 1024
  static let readBytesMax = 256 * 1024
  /// Reads in one step, so that a stop or a flush is seen between.
  static let readsMax = 16
  /// How often a webhook that waits looks whether it is too far behind.
  static let lookInterval: Duration = .seconds(1)
  static let idleInterval: Duration = .seconds(60)
  /// What is delivered is on record so long afterwards: until then a crash has it sent again, under the same ids.
  static let commitInterval: Duration = .milliseconds(100)
  static let connectTimeoutMax: Duration = .seconds(10)
  /// Bytes of an answer's body that are read: its status is what counts.
  static let answerBytesMax = 64 * 1024
  /// After its time, how long a request may still take to be reported.
  private static let flightSlack: Duration = .seconds(5)

  enum Phase {
    /// The body grows.
    case gathering
    /// The body is whole, and its events are on record.
    case ready(id: String)
    case inFlight(WebhookFlight)
    /// The batch is given up, and not in the dead letters yet.
    case burying(WebhookBurial)
  }

  let options: WebhookOptions
  private let authorities: PEMSource?
  private let certificate: ClientCertificate?
  let context: SinkContext
  let reader: SinkReader
  let body: WebhookBody
  let metrics: AttemptMetrics
  let roll: @Sendable () -> Double
  private let client: any WebhookSending
  private let wake: SinkWake

  var phase = Phase.gathering
  var state = WebhookState()
  var record: WebhookRecord?
  /// The dead letters' file that is on record on disk.
  var committedDeadLetters: FileMark?
  /// What is here has to be on disk before anything is sent, or before a wait.
  var needsCommit = false
  /// Something was acknowledged since the last commit.
  var hasSettled = false
  /// The step's moment.
  private var steppedAt = ContinuousClock.now
  /// When what is acknowledged is committed at the latest.
  private(set) var commitDue = ContinuousClock.now
  /// The plan that is on record is of an earlier run, and batches by it may have been sent.
  var isPlanRestored = false
  /// Nothing waits.
  var isIdle = false
  /// When the gathered events have waited enough for more.
  var lingerUntil: ContinuousClock.Instant?

  // What of the relay's own doesn't work.
  private var failure: String?
  private var backoff = Backoff()
  private var pausedUntil: ContinuousClock.Instant?
  private var pausedUntilWall: Timestamp?
  var lastError: String?

  /// - Parameters:
  ///   - wake: told when an answer has come.
  ///   - roll: a random number from 0 up to 1, for jitter.
  init(
    _ options: WebhookOptions, _ context: SinkContext, client: any WebhookSending, wake: SinkWake,
    roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.options = options
    authorities = options.caFile.map { PEMSource($0.bytes) }
    certificate = options.clientCertificate?.shown
    self.context = context
    self.client = client
    self.wake = wake
    self.roll = roll
    var common = context.common
    if options.hasUsualMaxBehind { common.maxBehind = WebhookOptions.maxBehindUsual }
    reader = SinkReader(context.subscription, common, logger: context.logger)
    body = WebhookBody(relay: context.relay)
    metrics = AttemptMetrics(context.metrics, destination: context.name)
  }

  var clock: WallClock { context.clock }
  var logger: Logger { context.logger }

  func step(now: ContinuousClock.Instant, settles: Bool) -> SinkStep {
    steppedAt = now
    if let pausedUntil, now < pausedUntil { return .rest(until: pausedUntil) }
    do throws(WebhookFailure) {
      try openIfNeeded(now)
      let step = try work(now, settles)
      noteSuccess()
      return step
    } catch {
      return noteFailure(error, now)
    }
  }

  private func work(_ now: ContinuousClock.Instant, _ settles: Bool) throws(WebhookFailure) -> SinkStep {
    if hasSettled, now >= commitDue { try commit() }
    switch phase {
    case .inFlight(let flight):
      guard let result = flight.result else {
        return .busy(until: dueCommit(or: max(flight.deadline, now + Self.lookInterval)))
      }
      take(result, of: flight, now)
      return .again
    case .burying(let burial):
      // (Where dead letters can't be written for long, max_behind still holds.)
      if failure != nil, reader.isTooFarBehind { try dropBehind() } else { try bury(burial) }
      return .again
    case .gathering, .ready: break
    }
    if reader.isTooFarBehind { try dropBehind() }
    if let moment = state.isGone ? now + Self.idleInterval : state.mayAttempt(at: now) {
      // Waits are on record, so that a restart doesn't begin anew with them.
      if needsCommit || hasSettled { try commit() }
      return .rest(until: reader.isBounded ? min(moment, now + Self.lookInterval) : moment)
    }
    if case .gathering = phase, let step = try gather(now, settles) {
      isIdle = body.isEmpty && step != .again
      return step
    }
    isIdle = false
    guard case .ready(let id) = phase else { return .again }
    if needsCommit { try commit() }
    return .busy(until: dueCommit(or: send(id, now)))
  }

  /// When there is something to do at the latest: what is delivered has to be on record soon, however long the next answer
  /// takes.
  private func dueCommit(or moment: ContinuousClock.Instant) -> ContinuousClock.Instant {
    hasSettled ? min(commitDue, moment) : moment
  }

  /// Sends the body; by when there is an answer.
  private func send(_ id: String, _ now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    var request = HTTPClientRequest(
      url: options.url, headers: headers(id), body: body.request, timeout: options.timeout,
      connectTimeout: min(options.timeout, Self.connectTimeoutMax), caFile: authorities,
      clientCertificate: certificate)
    request.answerBytesMax = Self.answerBytesMax
    let flight = WebhookFlight(id: id, began: now, deadline: now + options.timeout + Self.flightSlack)
    phase = .inFlight(flight)
    state.attempted(at: now)
    flight.onCancel(
      client.send(request) { [wake] result in
        flight.land(result)
        wake()
      })
    return flight.deadline
  }

  private func headers(_ id: String) -> [String] {
    ["Content-Type: application/json"] + options.headers.map(\.line)
      + WebhookSignature.headers(id: id, moment: clock.now, body: body.bytes, secrets: options.secrets)
  }

  func noteCommit() {
    needsCommit = false
    hasSettled = false
    commitDue = steppedAt + Self.commitInterval
  }

  func reloaded() { state.reloaded() }

  func finish() {
    do throws(WebhookFailure) {
      if case .inFlight(let flight) = phase {
        if let result = flight.result { take(result, of: flight, .now) } else { flight.cancel() }
      }
      endPlan()
      if case .burying(let burial) = phase { try bury(burial) }
      if needsCommit || hasSettled { try commit() }
    } catch {
      _ = noteFailure(error, .now)
    }
    context.deadLetters.close(context.name)
    client.close()
  }
}

// How it is.
extension WebhookWorker {
  var condition: SinkCondition {
    if let failure {
      return SinkCondition(failure: failure, state: .failing, retryAt: pausedUntilWall, lastError: lastError)
    }
    var notice = state.notice
    // What failed was given up, and nothing waits for another try.
    if isIdle, notice?.state == .waiting || notice?.state == .foreign { notice = nil }
    var condition = SinkCondition(failure: notice?.detail, state: notice?.state, lastError: lastError)
    switch phase {
    case .gathering, .ready: if let retryAt = state.delay?.retryAt, retryAt > clock.now { condition.retryAt = retryAt }
    case .inFlight, .burying: break
    }
    return condition
  }

  private func noteSuccess() {
    guard failure != nil else { return }
    failure = nil
    pausedUntil = nil
    pausedUntilWall = nil
    backoff.reset()
    logger.info("sink works again", about: context.name)
  }

  private func noteFailure(_ failure: WebhookFailure, _ now: ContinuousClock.Instant) -> SinkStep {
    let delay = backoff.next()
    pausedUntil = now + delay
    pausedUntilWall = clock.now + delay
    self.failure = failure.description
    lastError = failure.description
    logger.warning(
      "sink can't work and tries again", about: context.name,
      ["error": .text(failure.description), "after": .seconds(delay.seconds)])
    return .rest(until: now + delay)
  }
}
