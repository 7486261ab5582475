import Clocks
import DeadLetters
import EventLog
import JSON

/// Whether a destination's books are balanced: facts in, what is wrong out. No I/O.
struct BooksVerdict: Sendable, Equatable {
  struct Facts: Sendable {
    var name: String
    var books: DestinationView.Books
    var letters: DeadLetterBooks
    /// Dead letters that are on their way back into the queue.
    var unsettledReplays = 0
    /// The books began anew then: dead letters of before are in no column.
    var countersSince: Timestamp?
    /// Of a relay that runs: the ledger in its status before the files were read, and after.
    var before, after: JSONValue?
  }

  /// What is wrong, in a sentence; nil when nothing is.
  var fault: String?
  var remedy = ""
  /// What was found, when all is right.
  var detail = ""

  init(_ facts: Facts) {
    if let found = Self.imbalance(facts) ?? Self.letters(facts) ?? Self.status(facts) {
      (fault, remedy) = found
    }
    detail = Self.summary(facts)
  }

  private typealias Fault = (String, String)

  /// The record against the log.
  private static func imbalance(_ facts: Facts) -> Fault? {
    let ledger = facts.books.ledger
    var missing = facts.books.missing
    // Counted as lost by the relay since, and not on disk before its next commit.
    if missing > 0, let lost: Int = facts.before?["lost"]?.integer() {
      missing -= min(missing, max(0, lost - Int(clamping: ledger.settled[.lost])))
    }
    if missing != 0 { return fault(missing, ledger, "accepted", "the log", facts.name) }
    if facts.books.missingReplays != 0 {
      return fault(
        facts.books.missingReplays, ledger, "replayed", "the queue of events that are sent again", facts.name)
    }
    return nil
  }

  private static func fault(_ missing: Int, _ ledger: Ledger, _ column: String, _ log: String, _ name: String) -> Fault
  {
    let sum = "\(text(ledger)); by the log's count \(ledger.accepted + ledger.replayed) were accepted and replayed"
    if missing > 0 {
      return (
        "\(missing) \(column) events are neither settled nor in \(log): \(sum)",
        "was a segment removed or damaged, or an older position file put back? Put the missing files back while the relay "
          + "is stopped; else the next start counts these events as lost"
      )
    }
    return (
      "positions/\(name).json counts \(-missing) events more than \(log) has taken in: \(sum)",
      "was an older log put back under a newer position file? Put back files of one and the same moment"
    )
  }

  /// The dead-lettered column against the files' lines.
  private static func letters(_ facts: Facts) -> Fault? {
    if let fault = facts.letters.fault {
      return (fault, "put the file back from a backup; the events of the lines that are gone are gone")
    }
    if let first = facts.letters.strange.first {
      return (
        "\(facts.letters.strangeCount) lines are no dead letters of \(facts.name), the first at dead-letters/\(first)",
        "put the file back from a backup: its lines are changed by dead-letters drop alone"
      )
    }
    guard facts.countersSince == nil else { return nil }
    let ledger = facts.books.ledger
    let column = Outcome.allCases.reduce(0) { $1.isDeadLetter ? $0 + Int(clamping: ledger.settled[$1]) : $0 }
    let found =
      Int(clamping: facts.letters.waiting.total) + Int(clamping: ledger.putBack.total) + facts.letters.removed
    // Marked as put back and not counted so yet, when a crash, or this moment, came in between.
    if found < column, column - found <= facts.unsettledReplays { return nil }
    // What the log dropped while it was on its way to the dead letters stands as dropped, and what a position that was put
    // back owes again and the log no longer has as lost: both have a line as well.
    let elsewhere = Int(clamping: ledger.settled[.droppedLogFull] + ledger.settled[.lost])
    if found > column, found - column <= elsewhere { return nil }
    guard found != column else { return nil }
    let sum =
      "\(column) events were dead-lettered, and there are \(facts.letters.waiting.total) lines of them, "
      + "\(ledger.putBack.total) were put back and \(facts.letters.removed) removed by a limit or dropped"
    return found < column
      ? (
        "\(column - found) dead letters are gone: \(sum)",
        "put the file back from a backup; to be rid of dead letters use dead-letters drop, which counts them"
      )
      : (
        "\(found - column) dead letters are more than were counted: \(sum)",
        "was a file of dead letters copied here? Move the copy away. Or an older position file put back? Then events are "
          + "sent again whose letters are still here: leave them"
      )
  }

  /// The running relay's own books, and whether the files lie between what it said before and what it says after.
  private static func status(_ facts: Facts) -> Fault? {
    guard let before = facts.before, let after = facts.after else { return nil }
    if let fault = columns(before) ?? columns(after) {
      return (fault, "this is a fault of the program: please report it with the output of event-relay status --json")
    }
    let accepted = Int(clamping: facts.books.ledger.accepted)
    let delivered = Int(clamping: facts.books.ledger.settled[.delivered])
    guard let low: Int = before["accepted"]?.integer(), let high: Int = after["accepted"]?.integer(),
      let most: Int = after["delivered"]?.integer()
    else { return ("its ledger is missing in the status", "is another program at the admin address?") }
    if accepted < low || accepted > high {
      return (
        "the relay says that \(low == high ? "\(low)" : "\(low) to \(high)") events were accepted, and its files say \(accepted)",
        "is data_dir that of the relay that runs? Else stop it, and ask doctor again"
      )
    }
    if delivered > most {
      return (
        "the relay says that \(most) events were delivered, and its files say \(delivered)",
        "was a newer position file put under the running relay? Restart it"
      )
    }
    return nil
  }

  /// accepted + replayed = delivered + waiting + dead-lettered + dropped + filtered + lost
  static func columns(_ ledger: JSONValue) -> String? {
    func count(_ key: String) -> Int { ledger[key]?.integer() ?? 0 }
    let left = count("accepted") + count("replayed")
    let columns = ["delivered", "waiting", "dead_lettered", "dropped", "filtered", "lost"]
    let right = columns.reduce(0) { $0 + count($1) }
    guard left != right else { return nil }
    return "accepted and replayed are \(left), and the other columns are \(right): "
      + columns.map { "\($0) \(count($0))" }.joined(separator: ", ")
  }

  private static func summary(_ facts: Facts) -> String {
    var text = text(facts.books.ledger)
    if let since = facts.countersSince { text += "; its books began anew at \(since), dead letters are not compared" }
    if facts.unsettledReplays > 0 { text += "; a replay was interrupted, and is settled at the next start" }
    return text
  }

  private static func text(_ ledger: Ledger) -> String {
    "accepted \(ledger.accepted), replayed \(ledger.sentAgain) = delivered \(ledger.settled[.delivered]), "
      + "waiting \(ledger.waiting), dead-lettered \(ledger.deadLettered), dropped \(ledger.dropped), "
      + "filtered \(ledger.settled[.filtered]), lost \(ledger.settled[.lost])"
  }
}
