/// Puts variables of the environment into a value: `${NAME}`, `${NAME:-default}`; `$$` is one `$`, any other `$` is itself.
///
/// It happens after YAML is read, so that no variable can add a key or a line. The default counts when the variable is
/// unset or empty; it ends at the first `}` and is taken as it stands.
struct EnvironmentExpansion {
  struct Fault: Error, Equatable { var message: String }

  let environment: [String: String]

  /// The text with everything filled in, and the names of the variables that were asked.
  func expand(_ text: String) throws(Fault) -> (text: String, names: [String]) {
    guard text.utf8.contains(UInt8(ascii: "$")) else { return (text, []) }
    var out = ""
    var names: [String] = []
    var rest = Substring(text)
    while let dollar = rest.firstIndex(of: "$") {
      out += rest[..<dollar]
      rest = rest[rest.index(after: dollar)...]
      switch rest.first {
      case "$":
        out += "$"
        rest = rest.dropFirst()
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw Fault(
            message: "'${' is not closed: write ${NAME} or ${NAME:-default}, or $${ for these two signs themselves")
        }
        let (value, name) = try self.value(of: rest[rest.index(after: rest.startIndex)..<end])
        out += value
        names.append(name)
        rest = rest[rest.index(after: end)...]
      default:
        out += "$"
      }
    }
    return (out + rest, names)
  }

  private func value(of reference: Substring) throws(Fault) -> (String, name: String) {
    let name = reference.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    let after = reference[name.endIndex...]
    guard let first = name.first, !first.isNumber, after.isEmpty || after.hasPrefix(":-") else {
      throw Fault(message: "a variable is written ${NAME} or ${NAME:-default}, with letters, digits and _ in its name")
    }
    let set = environment[String(name)]
    if after.isEmpty {
      guard let set else {
        throw Fault(
          message: "the environment variable \(name) is not set: set it, or give a default with ${\(name):-default}")
      }
      return (set, String(name))
    }
    if let set, !set.isEmpty { return (set, String(name)) }
    return (String(after.dropFirst(2)), String(name))
  }
}
