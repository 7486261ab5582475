import Archive
import Clocks
import Configuration
import JSON

extension Command {
  private static let directory = Operand(name: "DIR", summary: "the archive's directory, path in its sink's settings")

  static let archiveList = Command(
    name: "archive list",
    summary: "Lists an archive's published files.",
    details: """
      Reads the manifest and changes nothing; a relay may run meanwhile. Files that the
      retention removed are not listed.
      """,
    operands: [directory],
    options: [Option("json", nil, "prints a JSON object a file in place of a table")],
    examples: [.init("event-relay archive list data/archive", "what is in it")]
  ) { arguments, context async throws(CommandFailure) in
    try await archiveWork { () throws(ArchiveError) in
      let reader = try ArchiveReader(directory: arguments.operands[0])
      let extent = try reader.extent()
      var listing = ArchiveListTable(isJSON: arguments.flag("json"))
      try reader.forEachFile { file, erasedLines in
        if let line = listing.add(file, erasedLines: erasedLines) { context.output.print(line) }
        return context.output.failure == nil
      }
      context.output.print(listing.text, terminator: "")
      if extent.files == 0 { context.output.error("no published files") }
      if extent.removedFiles > 0 {
        context.output.error("\(extent.removedFiles) older ones were removed by the retention")
      }
      for name in try reader.openFiles() {
        context.output.error("\(PrintableText.of(name)) is open and not published yet")
      }
      return .done
    }
  }

  static let archiveVerify = Command(
    name: "archive verify",
    summary: "Checks that an archive is what was written: every line, file and entry.",
    details: """
      Follows the chain of the manifest's entries, and checks each file, its lines and
      their salts against it. Needs nothing but the directory, and changes nothing; a
      relay may run meanwhile. Names what differs, with file and line, and exits with 1.

      Whoever can cut off the manifest's end together with the files named there leaves
      an archive that is whole by itself. So note the head's hash elsewhere now and then
      (the relay logs it with each file), and give it with --head.
      """,
    operands: [directory],
    options: [
      Option("head", "HASH", "a head that was noted: the archive must have it, or have gone on from it"),
      jsonOption,
    ],
    examples: [.init("event-relay archive verify data/archive", "all of it")]
  ) { arguments, context async throws(CommandFailure) in
    var noted: Digest?
    if let text = arguments["head"] {
      noted = Digest(text.lowercased())
      guard noted != nil else {
        throw .usage("--head wants the 64 hexadecimal digits of a hash, not \(quoted(text))")
      }
    }
    let progress = Progress(context.output)
    return try await archiveWork { [noted] () throws(ArchiveError) in
      defer { progress.clear() }
      let report = try ArchiveVerification.verify(arguments.operands[0], noted: noted) { done, total in
        progress.show(
          share: total > 0 ? Double(done) / Double(total) : nil,
          "\(SizeText.rounded(done)) of \(SizeText.rounded(total))")
      }
      progress.clear()
      let tables = ArchiveVerdict(report: report)
      context.output.print(arguments.flag("json") ? tables.json.description + "\n" : tables.text, terminator: "")
      return report.isWhole ? .done : .failed
    }
  }

  static let archiveCat = Command(
    name: "archive cat",
    summary: "Prints an archive's events, one line each, as they were archived.",
    details: """
      Reads only the published files, and of those only the ones whose times are meant.
      A file that isn't what was archived is named, and ends it with exit code 1; its
      lines up to there have been printed.
      """,
    operands: [directory],
    options: [
      Option("since", "TIME", "only those received from then on: 2026-10-23, 2026-10-23T12:00:00Z, or 2h (ago)"),
      Option("until", "TIME", "only those received before then"),
      Option("name", "NAME", "only events of this name"),
      Option("app", "NAME", "only those of this app"),
      Option("anonymous-id", "ID", "only those of this install"),
      Option("user-id", "ID", "only those of this user"),
    ],
    examples: [
      .init("event-relay archive cat data/archive --since 1d > day.ndjson", "those of the last day"),
      .init("event-relay archive cat data/archive --user-id u-17", "all that is known of one user"),
    ]
  ) { arguments, context async throws(CommandFailure) in
    let now = context.clock.now
    let filter = LineFilter(
      since: try DeadLetterQuery.moment("since", arguments, now: now),
      until: try DeadLetterQuery.moment("until", arguments, now: now), app: arguments["app"], name: arguments["name"],
      anonymousID: arguments["anonymous-id"], userID: arguments["user-id"])
    return try await archiveWork { () throws(ArchiveError) in
      let reader = try ArchiveReader(directory: arguments.operands[0])
      for name in try reader.openFiles() {
        context.output.error("\(PrintableText.of(name)) is open: what is in it is not read before it is published")
      }
      try reader.forEachLine(skippingFiles: filter.skips) { _, line in
        guard filter.admits(line) else { return true }
        context.output.print(bytes: line, terminator: UInt8(ascii: "\n"))
        return context.output.failure == nil
      }
      return .done
    }
  }

  /// Runs a body on a thread that may wait for the disk.
  private static func archiveWork(
    _ body: @escaping @Sendable () throws(ArchiveError) -> ExitCode
  ) async throws(CommandFailure) -> ExitCode {
    switch await WorkerThread.run({ Result { () throws(ArchiveError) in try body() } }) {
    case .success(let code): return code
    case .failure(let error): throw CommandFailure(PrintableText.of(error.description))
    }
  }
}
