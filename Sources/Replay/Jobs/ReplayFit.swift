import Clocks
import Dialects
import EventLog
import EventsAPI

/// What is to be known of a past event before it is sent again: whether it can go where it is meant to, and whether its time
/// still holds there.
struct ReplayFit {
  private let isUpstream: Bool
  private let sendAs: String?
  private let speaks: @Sendable (String) -> UInt8?
  private let oldest: Timestamp

  init(_ request: ReplayRequest, _ desk: ReplayDesk.Room) {
    isUpstream = request.destination == ReplayDesk.upstreamName
    sendAs = request.sendAs
    speaks = desk.speaks
    oldest = desk.clock.now - EventsLimits.pastMax
  }

  /// Why the event can't be sent; nil when it can. An upstream takes only events of the protocol that is spoken to it; what
  /// sinks write says what protocol an event came by.
  func misfit(_ candidate: ReplayCandidate) -> ReplayError? {
    guard isUpstream else { return nil }
    let app = sendAs ?? candidate.app
    guard let spoken = speaks(app), spoken != candidate.event.dialect else { return nil }
    let came = DialectRegistry.name(of: candidate.event.dialect)
    let whose = app == candidate.app ? "that app" : "app \(app), as which they are to be sent,"
    return ReplayError(
      .invalid,
      "events of app \(candidate.app) came by \(came), and \(whose) speaks \(DialectRegistry.name(of: spoken)) now: its "
        + "upstream can't take them; give the app \"protocol: \(came)\" again, or leave those events out by their app or time"
    )
  }

  /// Whether the upstream will give the event another time, since its own is too long ago.
  func isClamped(_ candidate: ReplayCandidate) -> Bool {
    guard isUpstream, candidate.event.kind == .event,
      DialectRegistry.dialect(candidate.event.dialect)?.outgoing.habits.clampsTime == true
    else { return false }
    return candidate.event.index.date(receivedAt: candidate.event.receivedAt) < oldest
  }
}
