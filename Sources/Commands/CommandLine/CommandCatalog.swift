import Configuration

/// All commands, in the order in which the help lists them.
enum CommandCatalog {
  static let all: [Command] = [
    .run, .check, .upstream, .send, .validate, .status, .doctor, .whereIs, .flush, .drain, .deadLettersList,
    .deadLettersShow,
    .deadLettersExport,
    .deadLettersReplay, .deadLettersDrop, .replay,
    .archiveList, .archiveVerify, .archiveCat,
    .logInspect,
    .logVerify,
    .torture,
  ]

  /// What the program starts itself with.
  static let hidden: [Command] = [.tortureRelay]

  /// The commands of a group: `dead-letters`.
  static func group(_ name: String) -> [Command] { all.filter { $0.name.hasPrefix("\(name) ") } }

  enum Found {
    case command(Command, rest: ArraySlice<String>)
    case group(String, [Command])
  }

  /// The command that a line names, and the words after it.
  static func find(_ words: [String]) throws(CommandFailure) -> Found {
    let first = words[0]
    if let command = (all + hidden).first(where: { $0.name == first }) {
      return .command(command, rest: words.dropFirst())
    }
    let group = group(first)
    guard !group.isEmpty else {
      let names = all.map { String($0.name.prefix { $0 != " " }) }
      throw unknown(first, among: names, "\(HelpText.program) --help lists the commands")
    }
    guard words.count > 1 else {
      throw .usage("\(first) wants one of \(subcommands(group).joined(separator: ", "))")
    }
    if words[1] == "--help" || words[1] == "-h" { return .group(first, group) }
    if let command = group.first(where: { $0.name == "\(first) \(words[1])" }) {
      return .command(command, rest: words.dropFirst(2))
    }
    throw unknown(
      words[1], among: subcommands(group), "\(first) has \(subcommands(group).joined(separator: ", "))")
  }

  private static func subcommands(_ group: [Command]) -> [String] {
    group.map { String($0.name.drop { $0 != " " }.dropFirst()) }
  }

  private static func unknown(_ word: String, among names: [String], _ else: String) -> CommandFailure {
    if word.hasPrefix("-") {
      return .usage("a command stands before its options, not \(quoted(word)); \(`else`)")
    }
    let meant = Spelling.nearest(to: word, among: names).map { "did you mean \($0)?" } ?? `else`
    return .usage("there is no command \(quoted(word)); \(meant)")
  }
}
