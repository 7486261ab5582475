import Clocks

/// Where one frame lies, in 20 bytes: the elements of a segment's directory.
struct DirectoryEntry: Equatable {
  static let size = 20
  static let eventsMax = Int(UInt16.max)

  struct Flags: OptionSet {
    let rawValue: UInt16
    /// The frame is damaged: its events are lost.
    static let damaged = Flags(rawValue: 1 << 0)
  }

  /// Offset and length in units of 8 bytes.
  private var offset8: UInt32
  private var length8: UInt32
  /// Counted from the segment's first number.
  private var sequenceDelta: UInt32
  /// Milliseconds from when the segment was made.
  private var receivedDelta: Int32
  private var events: UInt16
  private var flagBits: UInt16

  init(
    offset: Int, length: Int, sequenceDelta: Int, receivedDelta: Int64, events: Int, flags: Flags = []
  ) {
    offset8 = UInt32(offset / 8)
    length8 = UInt32(length / 8)
    self.sequenceDelta = UInt32(sequenceDelta)
    self.receivedDelta = Int32(clamping: receivedDelta)
    self.events = UInt16(events)
    flagBits = flags.rawValue
  }

  var offset: Int { Int(offset8) * 8 }
  var length: Int { Int(length8) * 8 }
  var end: Int { offset + length }
  var count: Int { Int(events) }
  var isDamaged: Bool { Flags(rawValue: flagBits).contains(.damaged) }

  func first(in segment: Segment) -> UInt64 { segment.firstSequence + UInt64(sequenceDelta) }
  func last(in segment: Segment) -> UInt64 { first(in: segment) + UInt64(events) - 1 }
  func receivedAt(in segment: Segment) -> Timestamp {
    Timestamp(milliseconds: segment.createdAt.milliseconds + Int64(receivedDelta))
  }

  /// Whether a frame can lie there, in a segment whose footer begins at an offset, with numbers that its app's share has.
  func isPlausible(in segment: Segment, of share: SegmentShare, footerOffset: Int) -> Bool {
    offset >= SegmentHeader.size && end <= footerOffset && length <= FrameHeader.lengthMax && events > 0
      && first(in: segment) >= share.first && last(in: segment) <= share.last
  }

  func write(to start: UnsafeMutableRawPointer) {
    start.put(offset8, 0)
    start.put(length8, 4)
    start.put(sequenceDelta, 8)
    start.put(receivedDelta, 12)
    start.put(events, 16)
    start.put(flagBits, 18)
  }

  init(_ start: UnsafeRawPointer) {
    offset8 = start.number(0)
    length8 = start.number(4)
    sequenceDelta = start.number(8)
    receivedDelta = start.number(12)
    events = start.number(16)
    flagBits = start.number(18)
  }
}
