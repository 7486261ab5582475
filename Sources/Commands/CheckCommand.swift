import Configuration
import JSON

extension Command {
  static let check = Command(
    name: "check",
    summary: "Says whether the configuration is right.",
    details: """
      Prints every fault with its file, line and key, what is wrong and what would be
      right, and exits with 2; else says what would listen, where data is kept, and
      what goes where. It looks whether the sinks' directories can be written by this
      user, and whether their hosts are known here. Nothing is started or changed.
      """,
    options: [ConfigurationFile.option, Option("json", nil, "prints one JSON object with the faults and warnings")],
    examples: [.init("event-relay check --config relay.yaml", "before a start or a reload")]
  ) { arguments, context async throws(CommandFailure) in
    let file = try ConfigurationFile(arguments, context)
    return await WorkerThread.run {
      var result = file.read()
      if let configuration = try? result.get() {
        let unusable = context.relay.tlsFaults(configuration).map {
          ConfigurationFault(file: file.path, line: 0, key: "", message: $0)
        }
        let faults = unusable + SinkPlaces.faults(configuration, file: file.path)
        if faults.isEmpty {
          var looked = configuration
          looked.warnings += SinkPlaces.warnings(configuration, file: file.path, environment: context.environment)
          result = .success(looked)
        } else {
          result = .failure(ConfigurationFaults(faults))
        }
      }
      let misfits = (try? result.get()).map(context.relay.misfits) ?? []
      let report = CheckReport(file: file.path, result: result, misfits: misfits)
      context.output.print(arguments.flag("json") ? report.json.description + "\n" : report.text, terminator: "")
      return (try? result.get()) == nil ? .usage : .done
    }
  }
}

/// What `check` found. The faults are its result, and no complaint about how it was called.
struct CheckReport {
  let file: String
  let result: Result<RelayConfiguration, ConfigurationFaults>
  /// What waits and doesn't fit.
  let misfits: [String]

  private var faults: [ConfigurationFault] {
    if case .failure(let faults) = result { faults.all } else { [] }
  }

  private var warnings: [ConfigurationFault] { (try? result.get().warnings) ?? [] }

  var json: JSONValue {
    func list(_ faults: [ConfigurationFault]) -> JSONValue {
      .array(
        faults.map {
          [
            "file": .string($0.file), "line": JSONValue($0.line), "key": .string($0.key),
            "message": .string($0.message),
          ]
        })
    }
    return [
      "ok": .bool(faults.isEmpty), "faults": list(faults), "warnings": list(warnings),
      "waiting": .array(misfits.map(JSONValue.string)),
    ]
  }

  var text: String {
    guard let configuration = try? result.get() else {
      return faults.map { PrintableText.of($0.description) + "\n" }.joined()
    }
    return warnings.map { PrintableText.of("\($0) (a warning)") + "\n" }.joined()
      + misfits.map { PrintableText.of($0) + "\n" }.joined() + Self.summary(configuration, file: file)
  }

  /// What a configuration comes to, in a few lines.
  private static func summary(_ configuration: RelayConfiguration, file: String) -> String {
    var rows = [
      ("configuration", "\(file) is right"),
      ("takes events at", configuration.ingest.listen.map { at($0, configuration.ingest.tls) }.joined(separator: ", ")),
      (
        "admin at",
        at(configuration.admin.listen, configuration.admin.tls)
          + (configuration.admin.token == nil ? "" : ", with a token")
      ),
      ("keeps data in", configuration.dataDirectory),
      (
        "log",
        "at most \(SizeText.exact(configuration.log.maxSize)) in segments of "
          + "\(SizeText.exact(configuration.log.segmentSize)), durability \(configuration.log.durability.rawValue)"
      ),
      ("keys", configuration.ingest.keys == .any ? "any" : "only the apps' listed"),
      ("sends to", configuration.upstream.url),
    ]
    rows += named("app", configuration.apps.map(app))
    rows += named("sink", configuration.sinks.map { "\($0.name) (\($0.type)): \($0.options.place)" })
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, value in
      title + String(repeating: " ", count: width - title.count) + "  " + PrintableText.of(value) + "\n"
    }.joined()
  }

  /// `127.0.0.1:8787 (TLS)`, `unix:/run/relay.sock (without TLS)`
  private static func at(_ address: RelayConfiguration.Address, _ tls: RelayConfiguration.TLS?) -> String {
    guard let tls else { return address.description }
    if case .unix = address { return "\(address) (without TLS)" }
    return "\(address) (TLS\(tls.clientCA == nil ? "" : ", clients with a certificate"))"
  }

  /// `ios (default)`, `site (datalyr, to https://ingest.example.com, leaves out 3 ids)`
  private static func app(_ app: RelayConfiguration.App) -> String {
    var facts = app.isDefault ? ["default"] : []
    if let upstream = app.upstream { facts += [app.protocolName, "to \(upstream.url)"] }
    if let denied = app.deniedIDs { facts.append("leaves out \(denied)") }
    return facts.isEmpty ? app.name : "\(app.name) (\(facts.joined(separator: ", ")))"
  }

  private static func named(_ title: String, _ values: [String]) -> [(String, String)] {
    values.isEmpty ? [(title, "none")] : values.map { (title, $0) }
  }
}
