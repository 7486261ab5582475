import Clocks
import Dialects
import EventLog
import EventsAPI
import Observability

// Faults of the upstream's own, and tries without an answer.
extension UpstreamEngine {
  func serverFault(_ flight: Flight, _ status: Int, _ asked: RetryAfter?) {
    let lane = flight.lane
    let cause = status == 408 ? "the request took too long to come" : "a fault on its side"
    let detail = "The upstream answered \(status), \(cause)."
    guard !flight.isLastTry else {
      giveUpUnanswered(flight, status: status, detail)
      return fail(lane, flight, .waiting, detail, asked, isOutage: true)
    }
    let portion = flight.portion(serverFaults: flight.serverFaults + 1, isUnanswered: true)
    switch flight.upstream.habits.onServerFault {
    case .findPoison: break
    case .stepAside: return stepAside(flight, portion, detail, asked)
    case .wait:
      lane.state.again.append(portion)
      return fail(lane, flight, .waiting, detail, asked, isOutage: true)
    }
    let step =
      if let suspect = flight.suspect {
        lane.state.poison.fault(PoisonHunt.Suspect(suspect, portion))
      } else {
        lane.state.poison.fault(portion)
      }
    switch step {
    case .again: lane.state.again.append(portion)
    case .halve: halve(flight, flight.halves(), serverFaults: portion.serverFaults)
    case .stepAside: break
    case .poison:
      context.logger.warning(
        "an event makes the upstream fail while it takes others; it goes to the dead letters",
        about: UpstreamContext.destination, ["app": .text(lane.app), "status": .integer(status)])
      return giveUp(flight, .poison, status, nil, nil)
    }
    fail(lane, flight, .waiting, detail, asked, isOutage: true)
  }

  /// A request that fails again and again steps aside as it is: others go on, and it is tried again for ever.
  private func stepAside(_ flight: Flight, _ portion: Portion, _ detail: String, _ asked: RetryAfter?) {
    let lane = flight.lane
    guard let suspect = flight.suspect else {
      if lane.state.poison.fault(portion, whole: flight.installSet) == .again { lane.state.again.append(portion) }
      return fail(lane, flight, .waiting, detail, asked, isOutage: true)
    }
    let again = PoisonHunt.Suspect(suspect, portion)
    guard suspect.othersPassed || lane.state.poison.hasPassed else {
      // Nothing has passed since it stepped aside: that is an outage.
      _ = lane.state.poison.fault(again)
      return fail(lane, flight, .waiting, detail, asked, isOutage: true)
    }
    let own = flight.upstream.outgoing.wait(
      after: FailedTries(count: portion.serverFaults, asked: asked, roll: context.roll()),
      flight.upstream.configuration.retry.delays)
    let length = max(own, flight.upstream.asideSpacing * (lane.state.poison.count + 1))
    lane.state.poison.failedAlone(again, until: now + length)
    if flight.upstream.countsTries {
      isRecordDirty = true
      requestUrgentCommit()
    }
    if lane.isNews("aside") {
      context.logger.warning(
        "events make the upstream fail while it takes others; they are tried again, and the others go on",
        about: UpstreamContext.destination,
        ["app": .text(lane.app), "reason": .text(detail), "retry_in": .seconds(length.seconds)])
    }
  }

  // MARK: Tries without an answer

  /// The events wait, or are given up after the last try that the configuration allows.
  func putBackUnanswered(_ flight: Flight, status: Int?, _ detail: String) {
    if flight.isLastTry {
      giveUpUnanswered(flight, status: status, detail)
    } else {
      putBack(flight, isUnanswered: true)
    }
  }

  private func giveUpUnanswered(_ flight: Flight, status: Int?, _ detail: String) {
    let letters = (0..<flight.count).map { Letter(index: $0, code: nil, message: detail) }
    guard bury(flight, letters, .gaveUp, status: status) else { return putBack(flight) }
    // (The failures in a row are counted on: that this one is given up says nothing about the next.)
    acknowledge(flight) { _ in .gaveUp }
    flight.lane.lingerUntil = nil
    guard isNews(.gaveUp, of: flight.lane.app) else { return }
    context.logger.warning(
      "events had no answer in retry.max_attempts tries; they go to the dead letters",
      about: UpstreamContext.destination,
      ["app": .text(flight.lane.app), "events": .integer(flight.count), "reason": .text(detail)])
  }
}
