/// What `--help` prints.
enum HelpText {
  static let program = "event-relay"

  /// The one line that says how a command is written.
  static func usage(_ command: Command) -> String {
    let options = command.options.map { option in
      option.value.map { "[--\(option.name) \($0)]" } ?? "[--\(option.name)]"
    }
    let words = [program, command.name] + options + command.operands.map(\.name)
    return "usage: " + words.joined(separator: " ")
  }

  static func help(_ command: Command) -> String {
    var out = "\(command.summary)\n\n\(usage(command))\n"
    if !command.details.isEmpty { out += "\n\(command.details)\n" }
    var rows = command.operands.map { ($0.name, $0.summary) }
    rows += command.options.map { option in ("--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.summary)
    }
    rows.append(("--help, -h", "prints this"))
    out += "\n" + columns(rows)
    if !command.examples.isEmpty {
      out += "\nexamples:\n"
      for example in command.examples { out += "  \(example.line)\n      \(example.summary)\n" }
    }
    return out
  }

  /// The help of the whole program.
  static func overview(_ commands: [Command]) -> String {
    """
    A durable relay for analytics events: takes them in, keeps them, and sends them on.

    usage: \(program) COMMAND [options]

    \(columns(commands.map { ($0.name, $0.summary) }))
      \(program) COMMAND --help    says more about a command
      \(program) --version         prints the version

    Exit codes: 0 done; 1 it ran and failed, or a check found something wrong; 2 wrong usage or configuration.

    """
  }

  /// The help of commands that begin with the same word.
  static func group(_ name: String, _ commands: [Command]) -> String {
    """
    usage: \(program) \(name) COMMAND [options]

    \(columns(commands.map { ($0.name, $0.summary) }))
      \(program) \(name) COMMAND --help    says more about a command

    """
  }

  private static func columns(_ rows: [(String, String)]) -> String {
    let width = min(rows.map(\.0.count).max() ?? 0, 28)
    let margin = String(repeating: " ", count: width + 4)
    return rows.map { name, summary in
      let head = "  " + name + String(repeating: " ", count: max(0, width - name.count)) + "  "
      let lines = wrapped(summary, width: lineWidth - margin.count)
      let isApart = name.count > width
      return (isApart ? head + "\n" + margin : head) + lines.joined(separator: "\n" + margin) + "\n"
    }.joined()
  }

  /// Columns of a terminal that need not be wide.
  private static let lineWidth = 100

  private static func wrapped(_ text: String, width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
