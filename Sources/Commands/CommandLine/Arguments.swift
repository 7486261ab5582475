import Clocks
import Configuration

/// What stood on a command's line.
struct Arguments: Sendable, Equatable {
  /// By the option's name; empty texts for options without a value.
  var options: [String: String] = [:]
  var operands: [String] = []

  func flag(_ name: String) -> Bool { options[name] != nil }

  subscript(_ name: String) -> String? { options[name] }

  /// A duration such as `2s`, within bounds.
  func duration(_ name: String, in range: ClosedRange<Duration>) throws(CommandFailure) -> Duration? {
    guard let text = options[name] else { return nil }
    guard let duration = DurationText.duration(text), range.contains(duration) else {
      throw .usage(
        "--\(name) wants a duration from \(DurationText.exact(range.lowerBound)) to "
          + "\(DurationText.exact(range.upperBound)), such as 500ms, 2s or 1m, not \(quoted(text))")
    }
    return duration
  }

  /// A whole number within bounds.
  func integer(_ name: String, in range: ClosedRange<Int>) throws(CommandFailure) -> Int? {
    guard let text = options[name] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .usage(
        "--\(name) wants a whole number from \(range.lowerBound) to \(range.upperBound), not \(quoted(text))")
    }
    return number
  }
}

/// A text of the user's in a message: in quotes, cut, without what would move the cursor.
func quoted(_ text: String) -> String {
  let printable = PrintableText.of(text)
  return "\"\(printable.count > 80 ? printable.prefix(80) + "..." : printable[...])\""
}
