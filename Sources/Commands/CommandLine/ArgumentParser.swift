import Configuration

/// Reads a command's line: long options, `--name value` or `--name=value`, in any place; `--` ends them.
struct ArgumentParser {
  let command: Command

  enum Parsed: Equatable {
    case arguments(Arguments)
    case help
  }

  func parse(_ words: some Collection<String>) throws(CommandFailure) -> Parsed {
    var arguments = Arguments()
    var rest = Array(words)[...]
    while let word = rest.popFirst() {
      if word == "--" {
        arguments.operands += rest
        break
      }
      if word == "--help" || word == "-h" { return .help }
      guard word.hasPrefix("-"), word != "-" else {
        arguments.operands.append(word)
        continue
      }
      try take(option: word, &rest, into: &arguments)
    }
    try check(arguments.operands)
    return .arguments(arguments)
  }

  private func take(
    option word: String, _ rest: inout ArraySlice<String>, into arguments: inout Arguments
  ) throws(CommandFailure) {
    let written = word.prefix { $0 != "=" }
    guard let option = command.options.first(where: { "--\($0.name)" == written }) else {
      throw unknown(String(written))
    }
    guard arguments.options[option.name] == nil else { throw .usage("--\(option.name) is given twice") }
    var value = word == written ? nil : String(word.dropFirst(written.count + 1))
    guard let placeholder = option.value else {
      guard value == nil else { throw .usage("--\(option.name) takes no value") }
      arguments.options[option.name] = ""
      return
    }
    // A word that is an option itself is no value: one was forgotten. A value that begins so is written with "=".
    if value == nil, let next = rest.first, next == "-" || !next.hasPrefix("-") { value = rest.removeFirst() }
    guard let value, !value.isEmpty else {
      throw .usage("--\(option.name) needs a value: --\(option.name) \(placeholder)")
    }
    arguments.options[option.name] = value
  }

  private func unknown(_ written: String) -> CommandFailure {
    let names = command.options.map(\.name) + ["help"]
    let bare = String(written.drop { $0 == "-" })
    if !written.hasPrefix("--") {
      return .usage("options are written with two dashes: there is no \(quoted(written))")
    }
    if let meant = Spelling.nearest(to: bare, among: names) {
      return .usage("there is no option \(quoted(written)); did you mean --\(meant)?")
    }
    return .usage("there is no option \(quoted(written))")
  }

  private func check(_ operands: [String]) throws(CommandFailure) {
    if operands.count < command.operands.count {
      throw .usage("\(command.operands[operands.count].name) is missing: \(command.operands[operands.count].summary)")
    }
    if operands.count > command.operands.count {
      throw .usage("\(quoted(operands[command.operands.count])) is one too many")
    }
  }
}
