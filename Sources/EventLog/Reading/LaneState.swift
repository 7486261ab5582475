import Clocks

/// A lane of a subscription: what it has settled, and how far it has been read.
///
/// Guarded by the subscription's lock, but for `reader`, which belongs to whoever reads the lane.
final class LaneState {
  let app: AppID
  var marks: LaneMarks
  /// Events not settled.
  var pending = 0
  /// The number of the lane's newest event.
  var last: UInt64 = 0
  /// Everything before it was handed out, or settled.
  var cursor: UInt64
  /// Changes when the cursor is put elsewhere: what a reader brings back from before is let go.
  var epoch = 0
  /// The oldest event not settled, when it is known.
  var oldest: (sequence: UInt64, receivedAt: Timestamp)?
  /// How many directories made anew it has been counted with.
  var rebuildsSeen = 0
  /// For looking into directories when something is settled.
  var directory: DirectoryCursor
  let reader: LaneReader
  /// For what is read again beside it.
  private(set) lazy var again = LaneReader(app: app)

  init(app: AppID, marks: LaneMarks) {
    self.app = app
    self.marks = marks
    cursor = marks.low + 1
    directory = DirectoryCursor(app: app)
    reader = LaneReader(app: app)
  }

  var isReady: Bool { pending > 0 && last >= cursor }
}
