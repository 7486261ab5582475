import EventLog
import EventsAPI

extension EventIndex {
  /// What the log knows of an event that passed its protocol's rules.
  public init(_ event: AcceptedEvent, judgesTime: Bool) {
    var flags: EventIndex.Flags = []
    if event.isClamped { flags.insert(.clamped) }
    if event.hasLineBreaks { flags.insert(.lineBreaks) }
    if event.hasUser { flags.insert(.hasUser) }
    if event.isOtherForm { flags.insert(.otherForm) }
    if !judgesTime { flags.insert(.unjudged) }
    self.init(
      idHigh: event.idHigh, idLow: event.idLow, installHash: event.installHash, userHash: event.userHash,
      length: event.length, nameOffset: event.nameOffset, occurredAtOffset: event.occurredAtOffset,
      occurredAt: event.occurredAt, flags: flags)
  }
}
