import CYAML

/// A syntax error of libyaml's, put so that the writer of the file sees what to change.
struct YAMLProblem {
  private let problem: String
  private let context: String
  private let contextLine: Int
  private let line: Int
  private let isEncoding: Bool
  /// The line's own text.
  private let lineText: String

  init(_ event: cyaml_event, in bytes: [UInt8]) {
    problem = String(cString: event.text)
    context = event.context.map { String(cString: $0) } ?? ""
    contextLine = Int(event.context_line)
    isEncoding = event.is_encoding
    if isEncoding {
      // Then libyaml knows the byte and not the line.
      line = 1 + bytes.prefix(Int(event.offset)).count { $0 == UInt8(ascii: "\n") }
    } else {
      // At the end of the file libyaml names the line after the last.
      line = min(Int(event.line), max(1, Self.lineCount(bytes)))
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    lineText = line <= lines.count ? String(decoding: lines[line - 1], as: UTF8.self) : ""
  }

  private static func lineCount(_ bytes: [UInt8]) -> Int {
    bytes.count { $0 == UInt8(ascii: "\n") } + (bytes.last == UInt8(ascii: "\n") ? 0 : 1)
  }

  var fault: YAMLReader.Fault { YAMLReader.Fault(line: line, message: "not YAML: " + explanation) }

  private var explanation: String {
    if isEncoding {
      return "a byte that is not UTF-8 text, or a control character; save the file as UTF-8 (\(problem))"
    }
    if indentation.contains("\t") {
      return "a tab is used as indentation; use spaces (\(problem))"
    }
    if let remedy { return "\(remedy) (\(problem)\(began))" }
    return problem + began
  }

  /// The white space that a line begins with.
  private var indentation: Substring { lineText.prefix { $0 == " " || $0 == "\t" } }

  private var began: String { context.isEmpty || contextLine == line ? "" : ", \(context) from line \(contextLine)" }

  private var remedy: String? {
    switch problem {
    case "mapping values are not allowed in this context":
      "': ' where no key can stand; check the indentation, and put quotes around a value that contains ': '"
    case "did not find expected key", "did not find expected '-' indicator":
      "the indentation does not fit the lines above; keys of one group begin in the same column"
    case "could not find expected ':'":
      "a key without ':' after it, or a line that belongs to nothing"
    case "did not find expected ',' or '}'", "did not find expected ',' or ']'":
      lineText.contains("${")
        ? "inside { } and [ ] a value with ${NAME} needs quotes: \"${NAME}\""
        : "a list or group in { } or [ ] is not closed"
    case "did not find expected node content":
      "a value is missing, or a sign too many stands in { } or [ ]"
    case "found unexpected end of stream":
      "a quote that is opened is never closed"
    case "found character that cannot start any token":
      "a value cannot begin with this sign; put quotes around it"
    case "found unknown escape character":
      "in double quotes a backslash begins an escape; write \\\\ for a backslash, or use single quotes"
    default: nil
    }
  }
}
