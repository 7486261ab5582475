import Clocks
import DeadLetters
import EventLog
import EventsAPI
import HTTPClient
import Observability
import Records

extension UpstreamEngine {
  /// Takes an answer, or its absence, and goes on.
  func finish(_ flight: Flight, _ result: Result<HTTPAnswer, TransportFailure>) {
    let lane = flight.lane
    inFlight -= 1
    inFlightBytes -= flight.buffers.body.count
    lane.phase = .resting
    lane.task = nil
    defer { if inFlight == 0 { resumeIdleWaiters() } }
    // After the stop nobody keeps positions any more; what was sent is sent again, with the same ids.
    guard !isStopped else { return }
    if flight.isCut { lane.needsRewind = true }
    let took = now - flight.began
    switch result {
    case .failure(let failure):
      context.metrics.count(.network, took: took)
      fail(
        lane, .waiting,
        "No answer from the upstream (\(failure.kind.rawValue)): \(failure.description)\(Self.advice(on: failure))",
        isOutage: true)
    case .success(let answer):
      let verdict = UpstreamVerdict.judge(
        status: answer.status, retryAfter: answer.values(of: "retry-after"), body: answer.body,
        isBodyCut: answer.isBodyCut, sentEvents: flight.shape.count, route: flight.kind == .event ? .events : .identify,
        now: context.clock.now)
      context.metrics.count(AttemptMetrics.Outcome(verdict), took: took)
      act(on: verdict, flight)
    }
    pool.giveBack(flight.buffers)
    consider(lane)
    pump()
  }

  /// What an operator can look at.
  private static func advice(on failure: TransportFailure) -> String {
    switch failure.kind {
    case .resolve: "; check the host in upstream.url, and this machine's DNS"
    case .tls: "; if the upstream's certificate comes from a CA of your own, name that in upstream.ca_file"
    case .connect, .timeout, .reset, .protocolError, .other: ""
    }
  }

  private func act(on verdict: UpstreamVerdict, _ flight: Flight) {
    let lane = flight.lane
    switch verdict {
    case .delivered(let receipt):
      reachable()
      lane.notice = nil
      deliver(flight, receipt)
    case .refused(let status, let code, let message):
      reachable()
      noteRefusal(lane, status, flight.withoutKey(code), flight.withoutKey(message))
      giveUp(flight, .refused, status, code, message)
    case .badRequest(let code, let message): unfit(flight, .refused, 400, code, message)
    case .tooLarge(let code, let message): unfit(flight, .tooLarge, 413, code, message)
    case .retry(let after, .rateLimited):
      reachable()
      let detail = "The upstream answered 429, too many events; the next try comes when it allows."
      fail(lane, .waiting, detail, after, isRateLimited: true)
    case .retry(let after, .serverError(let status)):
      fail(lane, .waiting, "The upstream answered \(status), a fault on its side.", after, isOutage: true)
    case .retry(let after, .foreign(let status)):
      let detail =
        "Status \(status) without the API's own body: is something between us and the upstream (a portal, a proxy), or "
        + "is upstream.url wrong?"
      fail(lane, .foreign, detail, after, isOutage: true)
    }
  }

  /// All is delivered but what was rejected, which goes to the dead letters.
  private func deliver(_ flight: Flight, _ receipt: BatchReceipt) {
    let shape = flight.shape
    if !receipt.countsAddUp {
      context.logger.warning(
        "an upstream answer's counts don't add up; the batch counts as delivered", about: UpstreamContext.destination,
        ["app": .text(flight.lane.app), "events": .integer(shape.count), "accepted": .integer(receipt.accepted)])
    }
    if !receipt.clamped.isEmpty { context.metrics.clamped.add(receipt.clamped.count) }
    var tally = Tally(.delivered, shape.count - receipt.rejected.count)
    if !receipt.rejected.isEmpty {
      let letters = receipt.rejected.map { Letter(index: $0.index, code: $0.code, message: $0.message) }
      guard bury(flight, letters, .rejected, status: 200) else { return deliverAllBut(receipt.rejected, flight) }
      tally.add(.rejected, UInt64(receipt.rejected.count))
    }
    acknowledge(flight, shape.first...shape.last, tally)
    settled(flight)
  }

  /// The dead letters can't be written: the delivered events are settled, the rejected ones stay and are sent again.
  private func deliverAllBut(_ rejected: [BatchReceipt.RejectedEvent], _ flight: Flight) {
    let events = flight.buffers.batch.events
    var start = 0
    for end in rejected.map(\.index) + [flight.shape.count] {
      if start < end {
        acknowledge(flight, events[start].sequence...events[end - 1].sequence, Tally(.delivered, end - start))
      }
      start = end + 1
    }
  }

  /// The batch as a whole was refused for what is in it, or its size: it is halved, and a single event given up.
  private func unfit(_ flight: Flight, _ outcome: Outcome, _ status: Int, _ code: String?, _ message: String?) {
    reachable()
    isRecordDirty = isRecordDirty || flight.lane.state.delay != nil
    switch flight.lane.state.refusedForContent(flight.shape) {
    case .halved:
      flight.lane.needsRewind = true
      flight.lane.notice = nil
    case .single: giveUp(flight, outcome, status, code, message)
    }
  }

  /// All of the batch goes to the dead letters.
  private func giveUp(_ flight: Flight, _ outcome: Outcome, _ status: Int, _ code: String?, _ message: String?) {
    let shape = flight.shape
    let letters = (0..<shape.count).map { Letter(index: $0, code: code, message: message) }
    guard bury(flight, letters, outcome, status: status) else { return }
    acknowledge(flight, shape.first...shape.last, Tally(outcome, shape.count))
    settled(flight)
    if flight.lane.notice?.state != .refused { flight.lane.notice = nil }
  }

  private struct Letter {
    var index: Int
    var code, message: String?
  }

  /// Writes dead letters and syncs them.
  ///
  /// - Returns: false when that fails: then the lane waits, and nothing of the letters counts.
  private func bury(
    _ flight: Flight, _ letters: [Letter], _ outcome: Outcome, status: Int
  ) -> Bool {
    let name = UpstreamContext.destination
    let batch = flight.buffers.batch
    defer { deadLetterLines.removeAll() }
    do {
      let mark = try context.deadLetters.prepare(name)
      if committedDeadLetters?.isSameFile(as: mark) != true {
        // A file is on record before its first line, so that after a crash it is found and cut back.
        record.deadLetters = mark
        isRecordDirty = true
        try commit()
      }
      for letter in letters {
        let event = batch.events[letter.index]
        deadLetterLines.append(
          event, app: batch.app(of: event), bytes: batch.bytes(of: event),
          deadLetter: DeadLetterDetails(
            destination: name, reason: outcome, status: status, code: letter.code.map { flight.withoutKey($0) },
            message: letter.message.map { flight.withoutKey($0) },
            attempts: max(1, flight.lane.state.attempts), at: context.clock.now))
      }
      record.deadLetters = try context.deadLetters.append(name, lines: deadLetterLines)
    } catch {
      let reason = (error as? FileError)?.description ?? (error as? LogError)?.description ?? "\(error)"
      fail(flight.lane, .failing, "Dead letters can't be written: \(reason)")
      return false
    }
    if let didBury = context.didBury { didBury(flight.lane.app, letters.map { batch.events[$0.index] }) }
    isRecordDirty = true
    requestCommit(within: Self.urgentCommitInterval)
    return true
  }

  private func acknowledge(_ flight: Flight, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    subscription.acknowledge(flight.lane.lane, range, tally)
    isPositionDirty = true
    if !flushes.isEmpty { countFlushed(flight.lane, Int(tally.total)) }
    requestCommit(within: Self.commitInterval)
  }

  private func settled(_ flight: Flight) {
    let lane = flight.lane
    if lane.state.delay != nil { isRecordDirty = true }
    lane.state.settled(through: flight.shape.last)
    lane.lingerUntil = nil
  }
}

// Failures and what ends them.
extension UpstreamEngine {
  /// Lets the lane wait before the next try.
  ///
  /// - Parameters:
  ///   - asked: what the upstream asked for.
  ///   - isOutage: nobody can send now.
  func fail(
    _ lane: DeliveryLane, _ state: DestinationStatus.State, _ detail: String, _ asked: RetryAfter? = nil,
    isRateLimited: Bool = false, isOutage: Bool = false
  ) {
    let detail = String(String.UnicodeScalarView(detail.unicodeScalars.prefix(Self.detailLengthMax)))
    let length = lane.state.failed(
      context.configuration.schedule, retryAfter: asked, isRateLimited: isRateLimited, roll: context.roll())
    if let asked, asked.wasCut {
      context.logger.warning(
        "the upstream's Retry-After is over an hour; one hour is waited", about: UpstreamContext.destination,
        ["app": .text(lane.app)])
    }
    let fields: KeyValuePairs<String, LogValue> = [
      "app": .text(lane.app), "reason": .text(detail), "retry_in": .seconds(length.seconds),
    ]
    if isOutage, outageSince == nil {
      outageSince = now
      context.logger.warning("the upstream can't be reached; events wait", about: UpstreamContext.destination, fields)
    } else {
      context.logger.info("events wait for another try", about: UpstreamContext.destination, fields)
    }
    delay(lane, length, state, detail, isAsked: asked != nil || isRateLimited)
  }

  /// Something of our own failed: it is tried again soon.
  func failLocally(_ lane: DeliveryLane, _ detail: String) {
    context.logger.error(
      "waiting events can't be read", about: UpstreamContext.destination,
      ["app": .text(lane.app), "reason": .text(detail)])
    delay(lane, Self.localRetry, .failing, detail)
  }

  private func delay(
    _ lane: DeliveryLane, _ length: Duration, _ state: DestinationStatus.State, _ detail: String, isAsked: Bool = false
  ) {
    lane.state.wait(
      LaneDelay(
        length: length, state: state, detail: detail, now: now, wallNow: context.clock.now, isAsked: isAsked))
    lane.notice = DeliveryLane.Notice(state: state, detail: detail)
    lane.needsRewind = true
    board.change { $0.lastError = "\(lane.app): \(detail)" }
    isRecordDirty = true
    requestCommit(within: Self.urgentCommitInterval)
  }

  private static var detailLengthMax: Int { 300 }

  /// The upstream itself has answered.
  private func reachable() {
    guard let since = outageSince else { return }
    outageSince = nil
    context.logger.info(
      "the upstream answers again", about: UpstreamContext.destination, ["after": .seconds((now - since).seconds)])
  }

  private func noteRefusal(_ lane: DeliveryLane, _ status: Int, _ code: String, _ message: String) {
    let detail = "The upstream answered \(status) \(code): \(message)"
    board.change { $0.lastError = "\(lane.app): \(detail)" }
    context.logger.warning(
      "the upstream refused events; they go to the dead letters", about: UpstreamContext.destination,
      ["app": .text(lane.app), "status": .integer(status), "code": .text(code)])
    lane.notice = status == 401 || status == 403 ? DeliveryLane.Notice(state: .refused, detail: detail) : nil
  }
}

extension Flight {
  /// The upstream's words, should they repeat the key, without it: a key is never shown.
  ///
  /// (What is shorter than this is no secret, and may be a word.)
  func withoutKey(_ words: String) -> String {
    guard key.utf8.count >= 8, words.contains(key) else { return words }
    return words.split(separator: key, omittingEmptySubsequences: false).joined(separator: "(key)")
  }
}
