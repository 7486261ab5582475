import Clocks

/// One app's frames in a segment, or those of all apps together, in figures.
struct SegmentShare: Equatable {
  var app: AppID
  var frames = 0
  var events = 0
  var first: UInt64 = 0
  var last: UInt64 = 0
  var receivedAt = TimeRange()
  var occurredAt = TimeRange()
  /// Where the share's list begins in a footer.
  var listOffset = 0

  init(app: AppID) { self.app = app }

  mutating func add(first: UInt64, count: Int, receivedAt: Timestamp, occurredAt: TimeRange) {
    if frames == 0 { self.first = first }
    frames += 1
    events += count
    last = first + UInt64(count) - 1
    self.receivedAt.include(receivedAt)
    self.occurredAt.include(occurredAt)
  }
}

/// The earliest and the latest of some moments.
struct TimeRange: Equatable {
  var earliest = Timestamp(milliseconds: .max)
  var latest = Timestamp(milliseconds: .min)

  var isEmpty: Bool { earliest > latest }
  /// Empty, or times that can be.
  var isPlausible: Bool { isEmpty || earliest.isPlausible && latest.isPlausible }

  mutating func include(_ moment: Timestamp) {
    if moment < earliest { earliest = moment }
    if moment > latest { latest = moment }
  }

  mutating func include(_ range: TimeRange) {
    guard !range.isEmpty else { return }
    include(range.earliest)
    include(range.latest)
  }
}
