import Archive
import Configuration
import JSON

/// What `archive verify` found, for people and for scripts.
struct ArchiveVerdict {
  let report: ArchiveReport

  var text: String {
    var out = rows.isEmpty ? "" : rowsText + "\n"
    guard !report.isWhole else { return out + "all of it is what was archived\n" }
    for fault in report.faults { out += PrintableText.of(fault.description) + "\n" }
    let more = report.faultCount - report.faults.count
    if more > 0 { out += "… and \(more) more\n" }
    return out + "\(report.faultCount) \(report.faultCount == 1 ? "fault" : "faults"), the first of them first\n"
  }

  private var rowsText: String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, value in
      title + String(repeating: " ", count: width - title.count) + "  " + PrintableText.of(value) + "\n"
    }.joined()
  }

  private var rows: [(String, String)] {
    guard let begin = report.begin else { return [] }
    let extent = report.extent
    var rows = [
      ("archive", "\(report.directory), \(begin.archive)"), ("of", "relay \(begin.relay), sink \(begin.sink)"),
    ]
    if let continues = begin.continues {
      rows.append(("continues", "archive \(continues.archive), which ended in \(continues.hash)"))
    }
    let checked = report.checkedFiles == extent.files ? "" : ", \(report.checkedFiles) of them right"
    rows.append(("files", "\(extent.files) of \(SizeText.rounded(extent.bytes))\(checked)"))
    if extent.removedFiles > 0 { rows.append(("removed", "\(extent.removedFiles) older files, by the retention")) }
    rows.append(("events", String(extent.events)))
    if extent.erasedLines > 0 { rows.append(("erased", "\(extent.erasedLines) events, each with its proof")) }
    if let first = extent.firstSequence, let last = extent.lastSequence {
      rows.append(("numbers", "\(first) to \(last)"))
      rows.append(("missing", missing))
    }
    for name in report.openFiles { rows.append(("open", "\(name), not published yet and not checked")) }
    for note in report.notes { rows.append(("note", note)) }
    rows.append(("head", "\(report.head), entry \(report.entries)"))
    if let noted = report.noted, let entry = noted.entry {
      let added = report.entries - entry
      rows.append(("noted", added == 0 ? "the head is the noted one" : "entry \(entry); \(added) came after it"))
    }
    return rows
  }

  private var missing: String {
    guard report.missingNumbers > 0 else { return "none" }
    var gaps = report.gaps.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
    if gaps.count == ArchiveReport.gapsMax { gaps.append("…") }
    return
      "\(report.missingNumbers) numbers, in \(gaps.joined(separator: ", ")): events that the sink's only, sample or "
      + "max_behind kept out, or that a full log dropped; otherwise lost"
  }

  var json: JSONValue {
    let extent = report.extent
    return [
      "directory": .string(report.directory), "whole": .bool(report.isWhole),
      "archive": JSONValue(report.begin?.archive.description), "relay": JSONValue(report.begin?.relay),
      "sink": JSONValue(report.begin?.sink),
      "continues": JSONValue(report.begin?.continues?.hash.description), "entries": JSONValue(report.entries),
      "head": .string(report.head.description),
      "noted_entry": report.noted?.entry.map { JSONValue($0) } ?? .null, "files": JSONValue(extent.files),
      "checked_files": JSONValue(report.checkedFiles), "removed_files": JSONValue(extent.removedFiles),
      "events": JSONValue(extent.events), "erased_lines": JSONValue(extent.erasedLines),
      "bytes": JSONValue(extent.bytes), "first_seq": extent.firstSequence.map { JSONValue($0) } ?? .null,
      "last_seq": extent.lastSequence.map { JSONValue($0) } ?? .null,
      "missing_numbers": JSONValue(report.missingNumbers),
      "gaps": .array(report.gaps.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) }),
      "open_files": .array(report.openFiles.map(JSONValue.string)),
      "notes": .array(report.notes.map(JSONValue.string)), "fault_count": JSONValue(report.faultCount),
      "faults": .array(
        report.faults.map { fault in
          [
            "file": .string(fault.file), "line": fault.line.map { JSONValue($0) } ?? .null,
            "detail": .string(fault.detail),
          ]
        }),
    ]
  }
}
