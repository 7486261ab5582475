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

  var tries: Tries { Tries(attempts: attempts, unanswered: unanswered) }
}

/// How often events were sent, and how often of that without an answer.
struct Tries: Sendable, Hashable {
  var attempts = 0
  var unanswered = 0

  func most(_ other: Tries) -> Tries {
    Tries(attempts: max(attempts, other.attempts), unanswered: max(unanswered, other.unanswered))
  }
}
