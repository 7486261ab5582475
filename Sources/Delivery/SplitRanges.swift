/// The parts of a batch that was refused as a whole, halved until the bad events stand alone: numbers only.
///
/// Parts are worked through in the events' order; a part is over when its events are settled.
struct SplitRanges: Sendable, Equatable {
  struct Part: Sendable, Equatable {
    /// The part's events are the lane's unsettled ones up to this number.
    var lastSequence: UInt64
    /// How often its events were sent already.
    var attempts: Int
  }

  /// The part at work is the last; below it those that come after.
  private(set) var parts: [Part] = []

  var isActive: Bool { !parts.isEmpty }
  var current: Part? { parts.last }

  /// Halves what was sent just now.
  ///
  /// - Parameters:
  ///   - middle: the number of the last event of the first half.
  ///   - last: the number of the last event of what was sent.
  mutating func halve(middle: UInt64, last: UInt64, attempts: Int) {
    if let current = parts.last, current.lastSequence == last {
      parts[parts.count - 1].attempts = attempts
    } else {
      parts.append(Part(lastSequence: last, attempts: attempts))
    }
    parts.append(Part(lastSequence: middle, attempts: attempts))
  }

  mutating func sent() {
    if isActive { parts[parts.count - 1].attempts += 1 }
  }

  /// Leaves the parts that end at or before the number: their events are settled.
  mutating func settled(through sequence: UInt64) {
    while let current = parts.last, current.lastSequence <= sequence { parts.removeLast() }
  }

  /// Leaves the part at work: nothing of it is unsettled any more.
  mutating func leaveCurrent() { _ = parts.popLast() }

  mutating func removeAll() { parts.removeAll() }
}
