/// What was found at one destination after a run.
struct DestinationEvidence: Sendable, Equatable {
  enum Role: Sendable, Equatable {
    case upstream, webhook
    /// A file sink: exactly once.
    case files
  }

  /// The columns of its ledger.
  struct Ledger: Sendable, Equatable {
    var accepted = 0
    var replayed = 0
    var delivered = 0
    var waiting = 0
    var deadLettered = 0
    var filtered = 0
    var dropped = 0
    var lost = 0

    /// Whether all that came in is in exactly one other column.
    var isBalanced: Bool {
      accepted + replayed == delivered + waiting + deadLettered + filtered + dropped + lost
    }
  }

  var name: String
  var role: Role
  /// Where it is looked at by a user: a directory or a log.
  var place: String
  /// How often each event is there, by its number.
  var copies: [Int: Int] = [:]
  /// How often each event is among its dead letters.
  var deadLetters: [Int: Int] = [:]
  /// Dead letters with the reason `poison`: events that alone were answered with 5xx again and again while others got through.
  var poisoned: Set<Int> = []
  /// Lines of its files.
  var lines = 0
  /// Numbers that stand twice in its files.
  var repeated: [UInt64] = []
  var notes = ArrivalNotes()
  /// The times that its lines say count in place of `occurred_at`, by the event's number.
  var timesUsed: [Int: Set<String>] = [:]
  /// Nil when it couldn't be read.
  var ledger: Ledger?
  /// Events that damage may have taken.
  var excused: Set<Int> = []
  /// How many its ledger is to call lost.
  var expectedLost = 0
  /// How many of those that damage took while they were owed stand in its files all the same: their lines were there already.
  var keptInFiles = 0
  /// Its position was put back: what it had had by then may come again.
  var wasRestored = false
}
