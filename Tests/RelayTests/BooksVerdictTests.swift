import Clocks
import JSON
import Testing

@testable import DeadLetters
@testable import EventLog
@testable import Relay

@Suite("Whether books are balanced")
struct BooksVerdictTests {
  /// 10 accepted: 6 delivered, 1 waiting, 3 dead letters, of which one was put back and one removed.
  private func facts() -> BooksVerdict.Facts {
    let ledger = Ledger(
      accepted: 10, settled: Tally([.delivered: 7, .refused: 3]), waiting: 1, replayed: 1,
      putBack: Tally(.refused, 1))
    return BooksVerdict.Facts(
      name: "upstream", books: DestinationView.Books(ledger: ledger),
      letters: DeadLetterBooks(waiting: Tally(.refused, 1), replayed: 1, removed: 1))
  }

  private func status(accepted: Int, delivered: Int, waiting: Int, lost: Int = 0) -> JSONValue {
    [
      "accepted": JSONValue(accepted), "replayed": 0, "delivered": JSONValue(delivered), "waiting": JSONValue(waiting),
      "dead_lettered": 2, "dropped": 0, "filtered": 0, "lost": JSONValue(lost),
    ]
  }

  @Test("nothing is wrong when lines, letters that were put back and removed ones are the column")
  func balanced() {
    let verdict = BooksVerdict(facts())
    #expect(verdict.fault == nil)
    #expect(verdict.detail.contains("dead-lettered 2"), "\(verdict.detail)")
  }

  @Test("events that are gone from the log are named, unless the relay has counted them as lost since")
  func missing() {
    var facts = facts()
    facts.books.missing = 4
    #expect(BooksVerdict(facts).fault?.hasPrefix("4 accepted events are neither settled nor in the log") == true)
    facts.before = status(accepted: 10, delivered: 7, waiting: 0, lost: 1)
    facts.after = facts.before
    #expect(BooksVerdict(facts).fault?.hasPrefix("3 accepted events") == true)
    facts.before = status(accepted: 10, delivered: 4, waiting: 0, lost: 4)
    facts.after = status(accepted: 10, delivered: 8, waiting: 0, lost: 0)
    #expect(BooksVerdict(facts).fault == nil)
    facts.books.missing = -2
    #expect(BooksVerdict(facts).fault?.contains("counts 2 events more than the log") == true)
    facts.books.missing = 0
    facts.books.missingReplays = 1
    #expect(BooksVerdict(facts).fault?.hasPrefix("1 replayed events") == true)
  }

  @Test("dead letters that are gone, or are more than were counted, are named")
  func letters() {
    var facts = facts()
    facts.letters = DeadLetterBooks(waiting: Tally(), replayed: 1, removed: 1)
    #expect(BooksVerdict(facts).fault?.hasPrefix("1 dead letters are gone") == true)
    // On its way back: marked in the files, and not counted yet.
    facts.unsettledReplays = 1
    #expect(BooksVerdict(facts).fault == nil)
    facts.unsettledReplays = 0
    facts.letters = DeadLetterBooks(waiting: Tally(.refused, 3), replayed: 1, removed: 1)
    #expect(BooksVerdict(facts).fault?.hasPrefix("2 dead letters are more") == true)
    // Their events stand in another column: dropped, or lost to a position that was put back.
    for outcome in [Outcome.droppedLogFull, .lost] {
      for (count, isRight) in [(1, false), (2, true), (3, true)] as [(UInt64, Bool)] {
        var facts = facts
        facts.books.ledger.settled.add(outcome, count)
        #expect((BooksVerdict(facts).fault == nil) == isRight, "\(outcome) \(count)")
      }
    }
    // Books that began anew know nothing of the letters of before.
    facts.countersSince = Timestamp(milliseconds: 0)
    #expect(BooksVerdict(facts).fault == nil)
  }

  @Test("files that say otherwise than the running relay are named, and columns that don't add up")
  func running() {
    var facts = facts()
    facts.before = status(accepted: 8, delivered: 6, waiting: 0)
    facts.after = status(accepted: 12, delivered: 10, waiting: 0)
    #expect(BooksVerdict(facts).fault == nil)
    facts.after = status(accepted: 9, delivered: 7, waiting: 0)
    #expect(BooksVerdict(facts).fault?.contains("its files say 10") == true)
    facts.after = status(accepted: 12, delivered: 6, waiting: 4)
    #expect(BooksVerdict(facts).fault?.contains("6 events were delivered, and its files say 7") == true)
    facts.after = status(accepted: 12, delivered: 10, waiting: 1)
    #expect(BooksVerdict(facts).fault?.hasPrefix("accepted and replayed are 12, and the other columns are 13") == true)
  }
}
