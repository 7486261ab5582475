import Clocks

/// What the writer remembers of a staged frame until it is synced.
struct FrameNote: Sendable {
  var app: AppID
  var offset: Int
  var length: Int
  var first: UInt64
  var count: Int
  var receivedAt: Timestamp
  var occurredAt: TimeRange
  var completion: @Sendable (AppendOutcome) -> Void
}
