import Clocks
import Dialects
import EventLog
import EventsAPI
import HTTPClient
import Observability

extension UpstreamEngine {
  /// Takes an answer, or its absence, and goes on.
  func finish(_ flight: Flight, _ result: Result<HTTPAnswer, TransportFailure>) {
    let lane = flight.lane
    inFlight -= 1
    flight.outlet.inFlight -= 1
    flight.outlet.inFlightBytes -= flight.buffers.body.count
    lane.tasks[flight.id] = nil
    lane.state.underWay.ended(flight.count, flight.installs)
    lane.state.trying[flight.id] = nil
    if lane.state.underWay.requests == 0 { lane.answersDue = nil }
    defer { if inFlight == 0 { resumeIdleWaiters() } }
    // After the stop nobody keeps positions any more; what was sent is sent again, with the same ids.
    guard !isStopped else { return }
    let took = now - flight.began
    let verdict = judge(flight, result, took)
    flight.sending.pause?.ended(flight.id)
    flight.sending.settle(flight.cost, flight.installs, isCounted: isCounted(flight, result, verdict), at: now)
    switch (verdict, result) {
    case (let verdict?, _): act(on: verdict, flight, took, status: (try? result.get().status) ?? 0)
    case (nil, .failure(let failure)): noAnswer(failure, flight)
    case (nil, .success): break
    }
    let aside = flight.upstream.stepsAside ? lane.state.poison.installs : []
    for install in flight.installs?.keys ?? [:].keys where aside.isEmpty || !aside.contains(install) {
      lane.state.answered(install: install)
    }
    pool.giveBack(flight.buffers)
    serve(flight.sending)
    consider(lane)
    pump()
  }

  private func judge(
    _ flight: Flight, _ result: Result<HTTPAnswer, TransportFailure>, _ took: Duration
  ) -> UpstreamVerdict? {
    guard case .success(let answer) = result else {
      context.metrics.count(.network, took: took)
      return nil
    }
    let verdict = flight.upstream.outgoing.judge(
      UpstreamAnswer(
        status: answer.status, retryAfter: answer.values(of: "retry-after"), body: answer.body,
        isBodyCut: answer.isBodyCut, sentEvents: flight.count, kind: flight.kind, now: context.clock.now))
    context.metrics.count(AttemptMetrics.Outcome(verdict), took: took)
    return verdict
  }

  /// Whether the upstream may have counted the request against its limits.
  private func isCounted(
    _ flight: Flight, _ result: Result<HTTPAnswer, TransportFailure>, _ verdict: UpstreamVerdict?
  ) -> Bool {
    switch (result, verdict) {
    // (Where requests count, one that is refused is one all the same.)
    case (_, .retry(_, .rateLimited)?): flight.upstream.habits.limitUnit == .requests
    case (.failure(let failure), _): failure.kind != .connect && failure.kind != .resolve && failure.kind != .tls
    default: true
    }
  }

  private func noAnswer(_ failure: TransportFailure, _ flight: Flight) {
    let detail = "No answer from the upstream (\(failure.kind.rawValue)): \(failure.description)"
    putBackUnanswered(flight, status: nil, detail)
    fail(
      flight.lane, flight, .waiting, detail + Self.advice(on: failure, flight.upstream), isOutage: true,
      kind: failure.kind.rawValue)
  }

  /// What an operator can look at.
  private static func advice(on failure: TransportFailure, _ upstream: AppUpstream) -> String {
    switch failure.kind {
    case .resolve: "; check the host in \(upstream.key("url")), and this machine's DNS"
    case .tls:
      "; if the upstream's certificate comes from a CA of your own, name that in \(upstream.key("ca_file"))"
    case .connect, .timeout, .reset, .protocolError, .other: ""
    }
  }

  private func act(on verdict: UpstreamVerdict, _ flight: Flight, _ took: Duration, status: Int) {
    let lane = flight.lane
    switch verdict {
    case .delivered(let receipt) where isDoubtful(receipt, flight): doubt(flight, receipt)
    case .delivered(let receipt):
      reachable(flight)
      lane.notice = nil
      lane.toldOf = []
      lane.state.concurrency.answered(after: took, underWay: lane.state.underWay.requests + 1)
      keyIsTaken(flight)
      deliver(flight, receipt)
      lane.meter.add(flight.count, at: now)
      lane.state.poison.passed()
      passRateHunt(flight)
    case .refused(let status, let code, let message):
      reachable(flight)
      refuse(flight, status, code, message)
    case .badRequest(let code, let message): unfit(flight, .refused, 400, code, message)
    case .tooLarge(let code, let message): unfit(flight, .tooLarge, 413, code, message)
    case .retry(let after, .rateLimited):
      reachable(flight)
      rateLimited(flight, after, status: status)
    case .retry(let after, .serverError(let status)): serverFault(flight, status, after)
    case .retry(let after, .foreign(let status)):
      let detail =
        "Status \(status) without the API's own body: is something between us and the upstream (a portal, a proxy), or "
        + "is \(flight.upstream.key("url")) wrong?"
      putBackUnanswered(flight, status: status, detail)
      fail(lane, flight, .foreign, detail, after, isOutage: true)
    }
  }

  /// The events wait, to be sent again.
  ///
  /// - Parameter isUnanswered: this try brought no answer.
  func putBack(_ flight: Flight, isUnanswered: Bool = false) {
    if let suspect = flight.suspect {
      let portion = flight.portion(serverFaults: flight.serverFaults, isUnanswered: isUnanswered)
      return flight.lane.state.poison.putBack(PoisonHunt.Suspect(suspect, portion))
    }
    flight.lane.state.again.append(flight.portion(isUnanswered: isUnanswered))
  }

  /// Whether the upstream says that it has fewer events than it got, and not which are missing; believed the second time.
  ///
  /// (A suspect has tries enough of its own.)
  private func isDoubtful(_ receipt: BatchReceipt, _ flight: Flight) -> Bool {
    flight.upstream.habits.doubtsCounts && receipt.accepted < flight.count - receipt.rejected.count
      && !flight.isDoubted && flight.suspect == nil
  }

  /// Has the batch sent once more: what the upstream has of it already, it knows by the events' ids.
  private func doubt(_ flight: Flight, _ receipt: BatchReceipt) {
    reachable(flight)
    keyIsTaken(flight)
    var portion = flight.portion()
    portion.isDoubted = true
    flight.lane.state.again.append(portion)
    fail(
      flight.lane, flight, .waiting,
      "The upstream says it took \(receipt.accepted) of \(flight.count) events and rejected \(receipt.rejected.count); "
        + "all are sent once more.", kind: "doubt")
  }

  /// All is delivered but what was rejected, which goes to the dead letters.
  private func deliver(_ flight: Flight, _ receipt: BatchReceipt) {
    if !receipt.countsAddUp, isNews(.oddCounts, of: flight.lane.app) {
      context.logger.warning(
        "an upstream answer's counts don't add up; the batch counts as delivered", about: UpstreamContext.destination,
        ["app": .text(flight.lane.app), "events": .integer(flight.count), "accepted": .integer(receipt.accepted)])
    }
    if receipt.unnamedRejections > 0 { noteUnnamed(receipt.unnamedRejections, flight) }
    if !receipt.clamped.isEmpty { context.metrics.clamped.add(receipt.clamped.count) }
    let rejected = Set(receipt.rejected.map(\.index))
    if !rejected.isEmpty {
      noteRejections(flight, receipt)
      let letters = receipt.rejected.map { Letter(index: $0.index, code: $0.code, message: $0.message) }
      guard bury(flight, letters, .rejected, status: 200) else { return deliverAllBut(rejected, flight) }
    }
    acknowledge(flight) { rejected.contains($0) ? .rejected : .delivered }
    settled(flight)
  }

  /// The dead letters can't be written: the delivered events are settled, the rejected ones stay and are sent again.
  private func deliverAllBut(_ rejected: Set<Int>, _ flight: Flight) {
    acknowledge(flight) { rejected.contains($0) ? nil : .delivered }
    flight.lane.state.again.append(
      Portion(events: flight.select { rejected.contains($0) }, attempts: flight.attempts))
  }

  /// The upstream has rejected events and doesn't say which: there is nothing to send again or to lay by.
  private func noteUnnamed(_ events: Int, _ flight: Flight) {
    context.metrics.rejectedUnnamed.add(events)
    guard isNews(.unnamedRejections, of: flight.lane.app) else { return }
    context.logger.warning(
      "the upstream rejects events of batches it takes, and doesn't say which: they count as delivered",
      about: UpstreamContext.destination,
      ["app": .text(flight.lane.app), "rejected": .integer(events), "of": .integer(flight.count)])
  }

  private func noteRejections(_ flight: Flight, _ receipt: BatchReceipt) {
    for event in receipt.rejected { context.metrics.countRejection(event.code) }
    guard receipt.rejected.contains(where: { $0.code == RejectionCode.tooManyEventNames.rawValue }),
      isNews(.tooManyNames, of: flight.lane.app)
    else { return }
    // The name is the sender's business, and none of a log's.
    context.logger.warning(
      "the upstream knows 500 event names of an app and rejects events with new ones; they are in the dead letters",
      about: UpstreamContext.destination, ["app": .text(flight.lane.app)])
  }

  /// The batch as a whole was refused for what is in it, or its size: it is halved, and a single event given up.
  private func unfit(_ flight: Flight, _ outcome: Outcome, _ status: Int, _ code: String?, _ message: String?) {
    reachable(flight)
    keyIsTaken(flight)
    if flight.count == 1 {
      if code != nil || message != nil || status == 400 {
        let told = flight.withoutSecrets(code, message)
        noteRefusal(flight.lane, status, told.code, told.message)
      }
      return giveUp(flight, outcome, status, code, message)
    }
    answered(flight)
    flight.lane.notice = nil
    halve(flight, flight.halves())
  }

  /// Has both halves sent, the first one first.
  func halve(_ flight: Flight, _ halves: (first: EventRanges, second: EventRanges), serverFaults: Int = 0) {
    for half in [halves.second, halves.first] where !half.isEmpty {
      flight.lane.state.again.append(
        Portion(
          events: half, attempts: flight.attempts, unanswered: flight.unanswered + (serverFaults > 0 ? 1 : 0),
          serverFaults: serverFaults))
    }
  }

  /// All of the request goes to the dead letters.
  func giveUp(_ flight: Flight, _ outcome: Outcome, _ status: Int?, _ code: String?, _ message: String?) {
    let letters = (0..<flight.count).map { Letter(index: $0, code: code, message: message) }
    guard bury(flight, letters, outcome, status: status) else { return putBack(flight) }
    acknowledge(flight) { _ in outcome }
    settled(flight)
    if flight.lane.notice?.state != .refused { flight.lane.notice = nil }
  }

  /// Settles the request's events, run by run; those without an outcome stay.
  func acknowledge(_ flight: Flight, _ outcome: (Int) -> Outcome?) {
    let stored = flight.buffers.batch.events
    var index = 0
    for run in flight.events.runs {
      var start: Int?
      var tally = Tally()
      for place in index..<index + run.events {
        if let outcome = outcome(place) {
          if start == nil { start = place }
          tally.add(outcome)
        } else if let from = start {
          settle(flight.lane, stored[from].sequence...stored[place - 1].sequence, tally)
          (start, tally) = (nil, Tally())
        }
      }
      index += run.events
      if let start { settle(flight.lane, stored[start].sequence...stored[index - 1].sequence, tally) }
    }
  }

  func settle(_ lane: DeliveryLane, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    subscription.acknowledge(lane.lane, range, tally)
    isPositionDirty = true
    if !flushes.isEmpty { countFlushed(lane, Int(tally.total)) }
    requestUsualCommit()
  }

  private func settled(_ flight: Flight) {
    answered(flight)
    flight.lane.lingerUntil = nil
  }

  /// The upstream has answered, and not with a failure.
  func answered(_ flight: Flight) {
    if flight.lane.state.delay != nil { isRecordDirty = true }
    flight.lane.state.answered(flight.began)
  }
}
