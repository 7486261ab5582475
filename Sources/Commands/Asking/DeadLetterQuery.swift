import Clocks
import Configuration
import DeadLetters
import EventsAPI

/// The filter that a line's options describe.
struct DeadLetterQuery {
  let filter: DeadLetterFilter

  init(_ arguments: Arguments, now: Timestamp) throws(CommandFailure) {
    filter = DeadLetterFilter(
      destination: arguments["destination"], app: arguments["app"], code: arguments["code"],
      since: try Self.moment("since", arguments, now: now), until: try Self.moment("until", arguments, now: now),
      includesReplayed: arguments.flag("all"))
  }

  /// A moment: a day (its begin, in UTC), a day and time with a zone, or a duration before now.
  static func moment(_ name: String, _ arguments: Arguments, now: Timestamp) throws(CommandFailure)
    -> Timestamp?
  {
    guard let text = arguments[name] else { return nil }
    if let ago = DurationText.duration(text) { return now - ago }
    let full = text.utf8.count == 10 ? text + "T00:00:00Z" : text
    guard let moment = Array(full.utf8).withUnsafeBytes({ OccurredAt.parse($0) }) else {
      throw .usage("--\(name) wants a time such as 2026-10-23, 2026-10-23T12:00:00Z or 2h (ago), not \(quoted(text))")
    }
    return moment
  }
}
