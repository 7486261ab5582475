import Clocks
import JSON

/// What is kept on disk of one destination: positions of all its lanes, its books, and its own record.
struct PositionRecord: Equatable {
  /// How a destination reads: lanes by app, or all apps together.
  enum Mode: String {
    case apps, all
  }

  var destination: String
  var mode: Mode = .apps
  /// The number after the newest event seen when the record was made: a lane without marks is settled up to here.
  var through: UInt64
  /// By app; the lane `.all` and events whose app can't be told stand under the empty name.
  var lanes: [String: LaneMarks] = [:]
  var settled = Tally()
  /// Events the log had taken in which this destination is not owed: accepted = the log's count - base.
  var acceptedBase: Int64 = 0
  /// The log's count when the record was made.
  var logAccepted: UInt64 = 0
  /// When the books began anew because the record before was damaged; nil when they are whole.
  var countersSince: Timestamp?
  var attachment: JSONValue?
  /// The record of the queue of events that are sent again, as it was when this one was made: in the same atomic write.
  var replays: JSONValue?

  func marks(of app: String) -> LaneMarks { lanes[app] ?? LaneMarks(low: through == 0 ? 0 : through - 1) }

  /// Names become file names.
  static func isName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte)
  }
}
