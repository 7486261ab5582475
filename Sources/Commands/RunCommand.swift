import Configuration

extension Command {
  static let run = Command(
    name: "run",
    summary: "Runs the relay, in the foreground.",
    details: """
      Logs to standard error. SIGTERM or SIGINT stops it: what is in flight is answered,
      what waits is sent for at most shutdown.grace. SIGHUP reads the configuration anew.
      """,
    options: [
      ConfigurationFile.option,
      Option(
        "stand-in", nil,
        "also starts a stand-in upstream in this process and sends there, whatever upstream.url says; keeps its data in <data_dir>-stand-in"
      ),
      Option("adopt", nil, "sends what was accepted for another upstream or by another instance to this one"),
    ],
    examples: [
      .init("event-relay run --config relay.yaml", "the relay"),
      .init("event-relay run --config Config/trial.yaml --stand-in", "a trial without any upstream"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let file = try ConfigurationFile(arguments, context)
    let source = file.source
    let configuration = try ConfigurationFile.unwrap(source.read())
    for warning in configuration.warnings { context.output.error(PrintableText.of("\(warning) (a warning)")) }
    let options = RelayPort.RunOptions(standsIn: arguments.flag("stand-in"), adopts: arguments.flag("adopt"))
    context.output.flush()
    let code = await context.relay.run(configuration, options, context.environment, source)
    return code == 0 ? .done : .failed
  }
}
