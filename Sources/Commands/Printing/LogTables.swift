import Clocks
import Configuration
import EventLog
import JSON

/// What a log holds, for people and for scripts.
struct LogTables {
  let report: LogReport

  /// The whole, as `log inspect` shows it.
  var text: String {
    var parts = [head]
    if !report.apps.isEmpty { parts.append(apps.text) }
    if !report.segments.isEmpty { parts.append(segments.text) }
    if report.isDamaged { parts.append(damages) }
    return parts.joined(separator: "\n")
  }

  /// What `log verify` found.
  var verdict: String {
    guard report.isDamaged else { return head + "\nevery record is whole\n" }
    return head + "\n" + damages
  }

  private var head: String {
    var rows = [
      ("log", "\(report.directory), format \(report.formatVersion)"),
      ("segments", "\(report.segments.count) of \(SizeText.rounded(report.sizeBytes)), \(report.spareFiles) spare"),
      ("events", "\(report.events) in \(report.frames) requests"),
    ]
    if report.retainedBytes > 0 {
      rows.append(("for replay", "\(SizeText.rounded(report.retainedBytes)) are kept for replay alone"))
    }
    if let first = report.firstSequence, let last = report.lastSequence {
      rows.append(("numbers", "\(first) to \(last)"))
    }
    let unfinished = report.segments.reduce(0) { $0 + $1.unfinishedBytes }
    if unfinished > 0 { rows.append(("unfinished", "\(SizeText.rounded(unfinished)) of a write that has not ended")) }
    for name in report.filesSetAside { rows.append(("set aside", name)) }
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, value in
      title + String(repeating: " ", count: width - title.count) + "  " + PrintableText.of(value) + "\n"
    }.joined()
  }

  private var apps: Table {
    var table = Table([
      .init("app"), .init("events", isNumber: true), .init("requests", isNumber: true), .init("oldest received"),
      .init("newest received"), .init("earliest occurred"), .init("latest occurred"),
    ])
    for app in report.apps {
      table.add([
        app.name, String(app.events), String(app.frames), Self.time(app.oldestReceivedAt),
        Self.time(app.newestReceivedAt),
        Self.time(app.earliestOccurredAt), Self.time(app.latestOccurredAt),
      ])
    }
    return table
  }

  private var segments: Table {
    var table = Table([
      .init("segment"), .init("state"), .init("events", isNumber: true), .init("requests", isNumber: true),
      .init("bytes", isNumber: true), .init("first", isNumber: true), .init("last", isNumber: true),
      .init("oldest received"), .init("newest received"),
    ])
    for segment in report.segments {
      table.add([
        segment.file, segment.state.rawValue, String(segment.events), String(segment.frames), String(segment.dataBytes),
        segment.firstSequence.map(String.init) ?? "", segment.lastSequence.map(String.init) ?? "",
        Self.time(segment.oldestReceivedAt), Self.time(segment.newestReceivedAt),
      ])
    }
    return table
  }

  /// Each damage on a line.
  private var damages: String {
    let lines = report.damages.map { damage in
      var line = "\(damage.file), byte \(damage.offset): \(damage.detail) is damaged (\(damage.bytes) bytes)"
      if let lost = damage.lostSequences {
        line +=
          lost.count == 1
          ? "; event \(lost.lowerBound) is lost" : "; events \(lost.lowerBound) to \(lost.upperBound) are lost"
        if let app = damage.app { line += ", of app \(app)" }
      }
      return PrintableText.of(line) + "\n"
    }
    return lines.joined()
      + "\(report.damages.count) \(report.damages.count == 1 ? "damage" : "damages"), \(report.lostEvents) "
      + "\(report.lostEvents == 1 ? "event" : "events") lost; what follows a damage still flows\n"
  }

  var json: JSONValue {
    [
      "directory": .string(report.directory), "format": JSONValue(report.formatVersion),
      "verified": .bool(report.isVerified), "damaged": .bool(report.isDamaged), "events": JSONValue(report.events),
      "requests": JSONValue(report.frames), "bytes": JSONValue(report.sizeBytes),
      "retained_bytes": JSONValue(report.retainedBytes),
      "first": Self.number(report.firstSequence), "last": Self.number(report.lastSequence),
      "lost_events": JSONValue(report.lostEvents), "spare_files": JSONValue(report.spareFiles),
      "set_aside": .array(report.filesSetAside.map(JSONValue.string)),
      "apps": .array(report.apps.map(Self.json)), "segments": .array(report.segments.map(Self.json)),
      "damages": .array(report.damages.map(Self.json)),
    ]
  }

  private static func json(_ app: LogReport.AppReport) -> JSONValue {
    [
      "app": .string(app.name), "events": JSONValue(app.events), "requests": JSONValue(app.frames),
      "first": JSONValue(app.firstSequence), "last": JSONValue(app.lastSequence),
      "oldest_received_at": JSONValue(app.oldestReceivedAt?.description),
      "newest_received_at": JSONValue(app.newestReceivedAt?.description),
      "earliest_occurred_at": JSONValue(app.earliestOccurredAt?.description),
      "latest_occurred_at": JSONValue(app.latestOccurredAt?.description),
    ]
  }

  private static func json(_ segment: LogReport.SegmentReport) -> JSONValue {
    [
      "file": .string(segment.file), "state": .string(segment.state.rawValue), "bytes": JSONValue(segment.sizeBytes),
      "data_bytes": JSONValue(segment.dataBytes), "events": JSONValue(segment.events),
      "requests": JSONValue(segment.frames), "first": number(segment.firstSequence),
      "last": number(segment.lastSequence), "oldest_received_at": JSONValue(segment.oldestReceivedAt?.description),
      "newest_received_at": JSONValue(segment.newestReceivedAt?.description),
      "unfinished_bytes": JSONValue(segment.unfinishedBytes), "retained": .bool(segment.isRetained),
    ]
  }

  private static func json(_ damage: LogReport.DamageReport) -> JSONValue {
    [
      "file": .string(damage.file), "offset": JSONValue(damage.offset), "bytes": JSONValue(damage.bytes),
      "detail": .string(damage.detail), "first_lost": number(damage.lostSequences?.lowerBound),
      "last_lost": number(damage.lostSequences?.upperBound), "app": JSONValue(damage.app),
    ]
  }

  private static func number(_ sequence: UInt64?) -> JSONValue { sequence.map { JSONValue($0) } ?? .null }

  private static func time(_ moment: Timestamp?) -> String { moment?.description ?? "" }
}
