import JSON

extension Tally {
  /// Counts as a record has them: by outcome. Nil when one isn't known or stands there twice, or when they are more than events
  /// have numbers.
  init?(_ members: [JSONValue.Member]) {
    var total: UInt64 = 0
    self.init()
    for member in members {
      guard let outcome = Outcome(rawValue: member.key), let count: UInt64 = member.value.integer(),
        self[outcome] == 0, Plausible.isSequence(count), Plausible.isSequence(total + count)
      else { return nil }
      add(outcome, count)
      total += count
    }
  }
}
