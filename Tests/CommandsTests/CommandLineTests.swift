import Testing

@testable import Commands

@Suite struct CommandLineTests {
  @Test func `Without a command the help goes to standard error, and the exit code is 2`() async {
    let ran = await run()
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err.contains("usage: event-relay COMMAND [options]"))
  }

  @Test(arguments: ["--help", "-h", "help"]) func `Help lists every command`(_ word: String) async {
    let ran = await run(word)
    #expect(ran.code == 0 && ran.err.isEmpty)
    for command in CommandCatalog.all { #expect(ran.out.contains("  \(command.name) ")) }
  }

  @Test func `The version is one line`() async {
    #expect(await run("--version").out == "event-relay \(ProgramVersion.current)\n")
  }

  @Test(arguments: [
    (["snd"], "event-relay: there is no command \"snd\"; did you mean send?\n"),
    (["frobnicate"], "event-relay: there is no command \"frobnicate\"; event-relay --help lists the commands\n"),
    (
      ["--config", "x"],
      "event-relay: a command stands before its options, not \"--config\"; event-relay --help lists the commands\n"
    ),
    (["dead-letters"], "event-relay: dead-letters wants one of list, show, export, replay, drop\n"),
    (["dead-letters", "lst"], "event-relay: there is no command \"lst\"; did you mean list?\n"),
    (
      ["dead-letters", "frob"],
      "event-relay: there is no command \"frob\"; dead-letters has list, show, export, replay, drop\n"
    ),
  ])
  func `A wrong command says what would be right`(_ words: [String], _ message: String) async {
    let ran = await run(words)
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err == message)
  }

  @Test(arguments: [
    (["validate"], "FILE|- is missing: the file of events, or - for standard input"),
    (["validate", "a", "b"], "\"b\" is one too many"),
    (["send", "--kye", "x", "f"], "there is no option \"--kye\"; did you mean --key?"),
    (["send", "--frobnicate", "f"], "there is no option \"--frobnicate\""),
    (["send", "-k", "x", "f"], "options are written with two dashes: there is no \"-k\""),
    (["send", "f", "--key"], "--key needs a value: --key KEY"),
    (["send", "--key", "--to", "u", "f"], "--key needs a value: --key KEY"),
    (["send", "--key=", "f"], "--key needs a value: --key KEY"),
    (["send", "--key", "a", "--key=b", "f"], "--key is given twice"),
    (["send", "--json=yes", "f"], "--json takes no value"),
  ])
  func `A wrong line says what is wrong, and how the command is written`(_ words: [String], _ message: String) async {
    let ran = await run(words)
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err.hasPrefix("event-relay \(words[0]): \(message)\nusage: event-relay \(words[0]) "))
  }

  @Test(arguments: CommandCatalog.all) func `Each command's help names all its options and operands`(_ command: Command)
    async
  {
    let words = command.name.split(separator: " ").map(String.init)
    for help in ["--help", "-h"] {
      let ran = await run(words + [help])
      #expect(ran.code == 0 && ran.err.isEmpty)
      #expect(ran.out == HelpText.help(command))
    }
    let text = HelpText.help(command)
    for option in command.options {
      #expect(text.contains("\n  --\(option.name)\(option.value.map { " \($0)" } ?? "") "))
    }
    for operand in command.operands { #expect(text.contains("\n  \(operand.name) ")) }
    #expect(text.contains("\n  --help, -h"))
    #expect(command.summary.hasSuffix("."))
    #expect(!command.examples.isEmpty)
    for line in text.split(separator: "\n") where !line.hasPrefix("usage:") { #expect(line.count <= 100, "\(line)") }
  }

  @Test(arguments: CommandCatalog.all) func `Each command's examples are lines it takes`(_ command: Command) throws {
    for example in command.examples {
      let ours = try #require(example.line.firstRange(of: "event-relay \(command.name)"), "\(example.line)")
      let words = example.line[ours.upperBound...].prefix { $0 != ">" }.split(separator: " ").map(String.init)
      _ = try ArgumentParser(command: command).parse(words)
    }
  }

  @Test func `A group's help lists its commands`() async {
    let ran = await run("dead-letters", "--help")
    #expect(ran.code == 0)
    #expect(ran.out.contains("dead-letters export"))
  }

  @Test(arguments: [
    ("event-relay\0", []), ("", []), ("/x/event-relay\0send\0--key\0\0a b\0", ["send", "--key", "", "a b"]),
    ("event-relay\0send", ["send"]),
  ])
  func `The words are found in what the system knows of the line`(_ line: String, _ words: [String]) {
    #expect(ProcessStart.words(inCommandLine: Array(line.utf8)) == words)
  }

  @Test func `Help can be asked for with a word`() async {
    #expect(await run("help", "send").out == HelpText.help(.send))
  }

  @Test func `Options stand anywhere, and two dashes end them`() throws {
    let parser = ArgumentParser(command: .send)
    #expect(
      try parser.parse(["a", "--key", "-", "--to=x=y", "--json"])
        == .arguments(.init(options: ["key": "-", "to": "x=y", "json": ""], operands: ["a"])))
    #expect(try parser.parse(["--", "--key"]) == .arguments(.init(operands: ["--key"])))
    #expect(try parser.parse(["--key=--odd", "-"]) == .arguments(.init(options: ["key": "--odd"], operands: ["-"])))
  }
}
