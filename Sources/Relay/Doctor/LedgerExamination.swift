import DeadLetters
import EventLog
import Glibc
import JSON
import Records

/// Recomputes each destination's books from the files, beside a relay that may run meanwhile: what doesn't fit because the
/// relay moved on is looked at again. Blocks on the disk.
struct LedgerExamination {
  /// A difference that stays the same so often, over at least so long, isn't the relay's moving on.
  static let sameMax = 4
  static let roundsMax = 60
  private static let pause: useconds_t = 100_000

  let dataDirectory: String
  /// Whether a relay runs, and answers or doesn't.
  let isInUse: Bool
  /// The running relay's status; nil when none runs.
  let status: () -> JSONValue?

  /// The verdicts of the last look, and of the log as a whole.
  struct Result {
    var checks: [DoctorCheck] = []
    var view: LogView?
    var books: [String: DestinationView.Books] = [:]
  }

  func run() -> Result {
    var result = Result()
    var same = 0
    var last: [DoctorCheck] = []
    for round in 0..<Self.roundsMax {
      let isRunning: Bool
      (result, isRunning) = look()
      let wrong = result.checks.filter { !$0.isOK }
      if wrong.isEmpty || !isRunning { return result }
      same = wrong == last ? same + 1 : 1
      last = wrong
      if same >= Self.sameMax { return result }
      if round < Self.roundsMax - 1 { usleep(Self.pause) }
    }
    // Another difference each time: numbers of several moments.
    result.checks = result.checks.map { check in
      guard !check.isOK else { return check }
      return .ok(
        check.name,
        "can't be compared, the relay moved on at each of \(Self.roundsMax) tries; ask again when less comes in, or when it "
          + "is stopped")
    }
    return result
  }

  private func look() -> (Result, isRunning: Bool) {
    var result = Result()
    let before = status()
    let view: LogView
    do throws(LogError) {
      view = try LogView.read(dataDirectory)
    } catch {
      result.checks = [.wrong("ledger", error.description, "see event-relay log verify \(dataDirectory)")]
      return (result, before != nil || isInUse)
    }
    result.view = view
    var facts: [(facts: BooksVerdict.Facts?, check: DoctorCheck?)] = []
    for destination in view.destinations {
      do {
        let books = try destination.books()
        result.books[destination.name] = books
        let letters = try DeadLetterBooks.read(
          "\(dataDirectory)/dead-letters", destination: destination.name,
          committed: destination.attachment?["dead_letters"].flatMap { FileMark($0) })
        facts.append(
          (
            BooksVerdict.Facts(
              name: destination.name, books: books, letters: letters,
              unsettledReplays: destination.unsettledReplays, countersSince: destination.countersSince), nil
          ))
      } catch {
        facts.append(
          (nil, .wrong("ledger \(destination.name)", "\(error)", "let the relay's user read all of data_dir")))
      }
    }
    let after = before == nil ? nil : status()
    result.checks = view.unreadable.map {
      .wrong("positions", $0, "put the file back from a backup of the same moment")
    }
    if let tail = view.missingTail {
      result.checks.append(
        .wrong(
          "log end",
          "the position of \(tail.destination) names event \(tail.through - 1), and the log ends before event \(tail.end): "
            + "what is between is gone",
          "put the log's files back while the relay is stopped; else the next start counts what is gone as lost"))
    }
    for (facts, check) in facts {
      if let check { result.checks.append(check) }
      guard var facts else { continue }
      facts.before = Self.ledger(facts.name, before)
      facts.after = Self.ledger(facts.name, after)
      result.checks.append(Self.check(facts))
    }
    return (result, before != nil || isInUse)
  }

  private static func ledger(_ name: String, _ status: JSONValue?) -> JSONValue? {
    status?["destinations"]?.array?.first { $0["name"]?.string == name }?["ledger"]
  }

  private static func check(_ facts: BooksVerdict.Facts) -> DoctorCheck {
    let verdict = BooksVerdict(facts)
    let name = "ledger \(facts.name)"
    guard let fault = verdict.fault else { return .ok(name, verdict.detail) }
    return .wrong(name, fault, verdict.remedy)
  }
}
