import EventLog

/// Which bytes of a stopped relay's log are damaged, and which records that hits: facts in, a decision out.
struct DamagePlan: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    /// A bit of a byte.
    case flip(bit: UInt8)
    /// The file ends here.
    case truncate
  }

  var segment: String
  /// The byte that is flipped, or the file's new length.
  var offset: Int
  var kind: Kind
  /// What can't be read any more.
  var hits: [LogView.Record]

  /// Zeros may fill up a record's last bytes, and nothing tells when these change.
  private static let paddingMax = 8

  /// Draws a place.
  ///
  /// Only where the log can know that something was there. A last write that nothing follows, and that no position names,
  /// is a write that never ended, for all that the files tell: the page Torture says what that means.
  ///
  /// - Parameters:
  ///   - records: in the order in which they lie in the log.
  ///   - knownThrough: the number after the newest event that a position names; `next` the number of the next event.
  ///   - owed: whether somebody is owed something of a record: those are preferred.
  /// - Returns: nil when there is no such place.
  static func draw(
    _ fault: TortureFault, _ records: [LogView.Record], knownThrough: UInt64, next: UInt64, roll: UInt64,
    owed: (LogView.Record) -> Bool
  ) -> DamagePlan? {
    var generator = SeededGenerator(seed: roll)
    let last = records.last?.segment
    let places = records.indices.filter { index in
      let record = records[index]
      guard !record.isDamaged, record.length > paddingMax else { return false }
      if record.isSealed || record.segment != last || knownThrough >= next { return true }
      guard fault == .flip else { return false }
      return index + 1 < records.count || knownThrough > record.sequences.upperBound
    }
    let wanted = places.filter { owed(records[$0]) }
    guard let index = (wanted.isEmpty ? places : wanted).randomElement(using: &generator) else { return nil }
    let target = records[index]
    let offset = target.offset + Int.random(in: 0..<target.length - paddingMax, using: &generator)
    guard fault == .truncate else {
      return DamagePlan(
        segment: target.segment, offset: offset, kind: .flip(bit: UInt8.random(in: 0..<8, using: &generator)),
        hits: [target])
    }
    let hits = records.filter { $0.segment == target.segment && $0.offset + $0.length > offset && !$0.isDamaged }
    return DamagePlan(segment: target.segment, offset: offset, kind: .truncate, hits: hits)
  }
}
