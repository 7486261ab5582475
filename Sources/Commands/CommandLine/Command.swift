/// One command of the program: how it is written, what its help says, what it does.
struct Command: Sendable {
  /// What follows the command's name and is no option.
  struct Operand: Sendable {
    /// As it stands in the usage line: `FILE|-`.
    var name: String
    var summary: String
  }

  struct Option: Sendable {
    /// Without its dashes.
    var name: String
    /// What stands for its value in the usage line; nil for an option that has none.
    var value: String?
    /// What it does, its unit and its default.
    var summary: String

    init(_ name: String, _ value: String? = nil, _ summary: String) {
      self.name = name
      self.value = value
      self.summary = summary
    }
  }

  struct Example: Sendable {
    var line: String
    var summary: String

    init(_ line: String, _ summary: String) {
      self.line = line
      self.summary = summary
    }
  }

  /// One word, or a group's and the command's own: `dead-letters list`.
  var name: String
  /// A sentence for the list of commands.
  var summary: String
  /// What else its help says; lines of at most 80 characters.
  var details = ""
  /// All of them must be given.
  var operands: [Operand] = []
  var options: [Option] = []
  var examples: [Example] = []
  var run: @Sendable (Arguments, CommandContext) async throws(CommandFailure) -> ExitCode
}

/// What the program ends with.
enum ExitCode: Int32, Sendable {
  case done = 0
  /// It ran and failed, or a check found something wrong.
  case failed = 1
  /// Wrong usage or configuration.
  case usage = 2
}

/// Why a command ends early, in a sentence for its user.
struct CommandFailure: Error, Equatable {
  var code: ExitCode
  var message: String
  /// The message is a whole text by itself, without the program's name before it.
  var isBare = false

  init(_ message: String, code: ExitCode = .failed) {
    self.code = code
    self.message = message
  }

  /// The command was called wrongly.
  static func usage(_ message: String) -> CommandFailure { CommandFailure(message, code: .usage) }
}
