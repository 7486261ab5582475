import EventLog
import JSON

extension Command {
  private static let directory = Operand(name: "DIR", summary: "the relay's data_dir, or the directory log in it")

  static let logInspect = Command(
    name: "log inspect",
    summary: "Shows what the write-ahead log holds: its segments and apps.",
    details: """
      Reads the files and changes nothing; a relay may run meanwhile. Looks at the
      segments' footers only: log verify looks at everything. Exits with 1 when damage
      is seen.
      """,
    operands: [directory],
    options: [jsonOption],
    examples: [.init("event-relay log inspect data", "the log under ./data")]
  ) { arguments, context async throws(CommandFailure) in
    let report = try await logReport { () throws(LogError) in try LogInspection.inspect(arguments.operands[0]) }
    let tables = LogTables(report: report)
    context.output.print(arguments.flag("json") ? tables.json.description + "\n" : tables.text, terminator: "")
    if report.isDamaged { context.output.error("the log is damaged; event-relay log verify looks at all of it") }
    return report.isDamaged ? .failed : .done
  }

  static let logVerify = Command(
    name: "log verify",
    summary: "Checks every record of the write-ahead log.",
    details: """
      Reads the files and changes nothing; a relay may run meanwhile. Names each damage
      with its file, place and the events that are lost by it, and exits with 1.
      """,
    operands: [directory],
    options: [jsonOption],
    examples: [.init("event-relay log verify data", "the log under ./data")]
  ) { arguments, context async throws(CommandFailure) in
    let progress = Progress(context.output)
    let report = try await logReport { () throws(LogError) in
      try LogInspection.verify(arguments.operands[0]) { done, total in
        progress.show(share: Double(done) / Double(total), "\(done) of \(total) segments")
      }
    }
    progress.clear()
    let tables = LogTables(report: report)
    context.output.print(arguments.flag("json") ? tables.json.description + "\n" : tables.verdict, terminator: "")
    return report.isDamaged ? .failed : .done
  }

  private static func logReport(
    _ read: @escaping @Sendable () throws(LogError) -> LogReport
  ) async throws(CommandFailure) -> LogReport {
    let result = await WorkerThread.run { Result { () throws(LogError) in try read() } }
    switch result {
    case .success(let report): return report
    case .failure(let error): throw CommandFailure(PrintableText.of(error.description))
    }
  }
}
