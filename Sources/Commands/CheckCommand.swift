import Configuration

extension Command {
  static let check = Command(
    name: "check",
    summary: "Says whether the configuration is right.",
    details: """
      Prints every fault with its file, line and key, what is wrong and what would be
      right, and exits with 2; else says what would listen, where data is kept, and
      what goes where. Nothing is started or changed.
      """,
    options: [ConfigurationFile.option],
    examples: [.init("event-relay check --config relay.yaml", "before a start or a reload")]
  ) { arguments, context async throws(CommandFailure) in
    let file = try ConfigurationFile(arguments, context)
    switch await WorkerThread.run({ ConfigurationLoader.load(file: file.path, environment: file.environment) }) {
    case .success(let configuration):
      for warning in configuration.warnings { context.output.print(PrintableText.of("\(warning) (a warning)")) }
      context.output.print(ConfigurationSummary.text(configuration, file: file.path), terminator: "")
      return .done
    case .failure(let faults):
      // The faults are this command's result.
      for fault in faults.all { context.output.print(PrintableText.of(fault.description)) }
      return .usage
    }
  }
}

/// What a configuration comes to, in a few lines.
enum ConfigurationSummary {
  static func text(_ configuration: RelayConfiguration, file: String) -> String {
    var rows = [
      ("configuration", "\(file) is right"),
      ("takes events at", configuration.ingest.listen.map(\.description).joined(separator: ", ")),
      ("admin at", configuration.admin.listen.description + (configuration.admin.token == nil ? "" : ", with a token")),
      ("keeps data in", configuration.dataDirectory),
      (
        "log",
        "at most \(SizeText.exact(configuration.log.maxSize)) in segments of "
          + "\(SizeText.exact(configuration.log.segmentSize)), durability \(configuration.log.durability.rawValue)"
      ),
      ("keys", configuration.ingest.keys == .any ? "any" : "only the apps' listed"),
      ("sends to", configuration.upstream.url),
    ]
    rows += named("app", configuration.apps.map { $0.isDefault ? "\($0.name) (default)" : $0.name })
    rows += named("sink", configuration.sinks.map { "\($0.name) (\($0.type.rawValue)): \($0.path)" })
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, value in
      title + String(repeating: " ", count: width - title.count) + "  " + PrintableText.of(value) + "\n"
    }.joined()
  }

  private static func named(_ title: String, _ values: [String]) -> [(String, String)] {
    values.isEmpty ? [(title, "none")] : values.map { (title, $0) }
  }
}
