import Torture

/// A run's report for people.
struct TortureTables {
  let report: TortureReport

  var text: String {
    var out = "\(report.minted) events minted, \(report.debts) answered with 200: each of these is a debt\n"
    out +=
      "\(report.requests) requests, of which \(report.unanswered) had no answer and \(report.refused) a 503: sent again\n\n"
    out += destinations + "\n" + faults + "\n"
    for finding in report.verdict.findings {
      let about = finding.destination.isEmpty ? finding.kind : "\(finding.kind), \(finding.destination)"
      out += "\(about): \(PrintableText.of(finding.detail))"
      out += finding.place.isEmpty ? "\n" : " (\(PrintableText.of(finding.place)))\n"
    }
    let unnamed = report.verdict.findingCount - report.verdict.findings.count
    if unnamed > 0 { out += "… and \(unnamed) more\n" }
    let seconds = Int(report.length / .seconds(1))
    out +=
      report.verdict.isProven
      ? "proven in \(seconds) s: nothing is missing, spurious or altered, the ledgers are exact, archive and log are whole\n"
      : "\(report.verdict.findingCount) \(report.verdict.findingCount == 1 ? "thing is" : "things are") wrong\n"
    out += "seed \(report.seed)\n"
    if report.isDirectoryKept { out += "kept: \(PrintableText.of(report.directory))\n" }
    return out
  }

  private var destinations: String {
    var table = Table([
      .init("destination"), .init("debts", isNumber: true), .init("missing", isNumber: true),
      .init("spurious", isNumber: true), .init("altered", isNumber: true), .init("duplicates", isNumber: true),
      .init("dead letters", isNumber: true), .init("counted lost", isNumber: true), .init("ledger"),
    ])
    for row in report.verdict.rows {
      table.add([
        row.destination, "\(row.debts)", "\(row.missing)", "\(row.spurious)", "\(row.altered)", "\(row.duplicates)",
        "\(row.deadLettered)", "\(row.lost)", row.isLedgerExact ? "exact" : "wrong",
      ])
    }
    return table.text
  }

  private var faults: String {
    var table = Table([.init("fault"), .init("times", isNumber: true)])
    for (name, count) in report.faults { table.add([name, "\(count)"]) }
    return table.text
  }
}

extension String {
  /// The text with spaces behind it, up to so many characters.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
