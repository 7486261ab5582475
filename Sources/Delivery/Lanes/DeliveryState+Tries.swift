/// Events that were sent and had no answer: how often, kept over restarts so that `retry.max_attempts` counts on.
struct Tried: Sendable, Equatable {
  /// Numbers of the first and the last of them.
  var numbers: ClosedRange<UInt64>
  var tries: Tries

  /// Nil when there is nothing to be kept.
  init?(_ events: EventRanges, _ tries: Tries) {
    guard tries.unanswered > 0, let first = events.sorted().first, let last = events.sorted().last else { return nil }
    self.init(numbers: first...last, tries: tries)
  }

  init(numbers: ClosedRange<UInt64>, tries: Tries) {
    self.numbers = numbers
    self.tries = tries
  }
}

extension DeliveryState {
  /// All requests of the lane that had no answer, wherever they are by now. Of lanes whose requests are kept apart.
  var tried: [Tried] {
    let portions = again + poison.portions + trying.values
    return portions.compactMap { Tried($0.events, $0.tries) } + requests.all.compactMap { Tried($0.events, $0.tries) }
      + triedBefore
  }

  /// Takes up what is on record of the life before.
  mutating func takeUp(_ tried: [Tried]) {
    triedBefore = tried
    // (What is known of each request needn't be guessed of the first.)
    if !tried.isEmpty { forgetRestored() }
  }

  /// How often a request was sent before the restart, by its first event's number; nil: nobody knows.
  mutating func takeTries(ofRequestAt number: UInt64) -> Tries? {
    guard let at = triedBefore.firstIndex(where: { $0.numbers.contains(number) }) else { return nil }
    return triedBefore.remove(at: at).tries
  }
}
