/// Events that were sent and are to be sent again, as they were or halved: numbers only.
struct Portion: Sendable, Equatable {
  var events: EventRanges
  /// How often they were sent.
  var attempts: Int
  /// Those of them that brought no answer: a 429 is one.
  var unanswered = 0
  /// How often in a row the upstream had a fault of its own (5xx) with them.
  var serverFaults = 0
  /// The upstream took them, as it said, but not all, and not which: it is believed the next time.
  var isDoubted = false
}
