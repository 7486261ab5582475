/// A destination's queue of events that are sent again, as it stands at one moment.
struct QueueView: Sendable {
  let catalog: SegmentCatalog
  let record: PositionRecord
  /// Dead letters that were put back, by what they had been given up for.
  let putBack: Tally
  /// Events of a put that a crash, or this moment, interrupted: they are in the queue and not counted yet.
  let unsettled: Int
}
