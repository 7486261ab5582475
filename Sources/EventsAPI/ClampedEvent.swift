/// A stored event whose `occurred_at` was out of range: an entry of the answer's `clamped`.
public struct ClampedEvent: Sendable, Equatable {
  /// Position among the request's events.
  public var index: Int
  let id: EventID

  init(index: Int, id: EventID) {
    self.index = index
    self.id = id
  }

  public init(_ event: AcceptedEvent) {
    self.init(index: event.index, id: EventID(high: event.idHigh, low: event.idLow, capitals: event.idCapitals))
  }

  /// `event_id` as it was sent.
  public var eventID: String { id.description }
}
