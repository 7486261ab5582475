import EventLog

// Requests that are tried alone, since the upstream failed with them.
extension UpstreamEngine {
  /// Reads what is tried alone, if it may go now.
  func takeSuspect(_ draft: inout RequestDraft, _ lane: DeliveryLane) throws(LogError) {
    guard let suspect = lane.state.poison.takeNext() else { return }
    let batch = draft.buffers.batch
    do throws(LogError) {
      let limit = lane.upstream.limit(suspect.portion.events.count)
      guard try subscription.read(lane.lane, again: suspect.portion.events.numbers, limit: limit, into: batch),
        let event = batch.events.first
      else { return free(suspect, lane) }
      guard mayGo(suspect, event, of: batch, draft, lane) else { return }
      keepRest(of: suspect, behind: batch, lane)
      draft.suspect = suspect
      draft.attempts = suspect.portion.attempts
      draft.unanswered = suspect.portion.unanswered
      draft.serverFaults = suspect.portion.serverFaults
      var position = RunPosition(suspect.portion.events)
      for event in batch.events {
        let follows = position.follows(event.sequence)
        draft.sending.installs?.take(event.index.installHash, 1)
        draft.picker.take(event, follows: follows)
      }
    } catch {
      lane.state.poison.putBack(suspect)
      throw error
    }
  }

  /// What of a suspect no request may hold with the rest any more, by another configuration, comes after it.
  private func keepRest(of suspect: PoisonHunt.Suspect, behind batch: EventBatch, _ lane: DeliveryLane) {
    guard batch.events.count < suspect.portion.events.count, let last = batch.events.last else { return }
    var rest = suspect.portion
    rest.events.remove(through: last.sequence, taken: batch.events.count)
    if !rest.events.isEmpty { lane.state.again.append(rest) }
  }

  /// What waits for a suspect may go on.
  private func free(_ suspect: PoisonHunt.Suspect, _ lane: DeliveryLane) {
    for install in suspect.installs { lane.state.answered(install: install) }
  }

  /// Whether a suspect is tried now: one that has grown too old is given up, one whose install is over its limit is held.
  private func mayGo(
    _ suspect: PoisonHunt.Suspect, _ event: StoredEvent, of batch: EventBatch, _ draft: RequestDraft,
    _ lane: DeliveryLane
  ) -> Bool {
    if draft.picker.isExpired(event) {
      let isBuried = buryExpired([event], of: batch, lane) { _ in suspect.portion.attempts }
      if isBuried { free(suspect, lane) } else { lane.state.poison.putBack(suspect) }
      return false
    }
    let install = event.index.installHash
    guard draft.sending.installs?.available(install, at: now) == 0,
      case .at(let moment)? = draft.sending.installs?.roomOrLook(install, at: now)
    else { return true }
    lane.state.poison.hold(suspect, until: moment)
    return false
  }
}
