import Configuration
import JSON

/// An event's story for people.
struct PassportTables {
  let passport: JSONValue

  var text: String {
    let copies = passport["copies"]?.array ?? []
    var text = copies.map(Self.text).joined(separator: "\n")
    if copies.isEmpty {
      text =
        "nothing is known of event \(passport["event_id"]?.string ?? "?")\n"
        + "(of events that a deny list keeps out nothing is kept)\n"
    }
    if copies.count > 1 { text += "\n\(copies.count) storings of one id: its sender sent it more than once\n" }
    return PrintableText.lines(text) + "\n" + PrintableText.lines(lookedAt)
  }

  /// Where was looked, and how far back that goes.
  private var lookedAt: String {
    let looked = passport["looked_at"]
    let log = looked?["log"]
    let bytes: Int = log?["bytes_read"]?.integer() ?? 0
    let reach = log?["oldest_received_at"]?.string.map { ", back to events received at \($0)" } ?? ", which is empty"
    var text =
      "looked at \(Self.number(log?["segments"])) segments of the log\(reach) (\(SizeText.rounded(bytes)) read), "
      + "\(Self.number(looked?["dead_letters"]?["files"])) files of dead letters"
    for archive in looked?["archives"]?.array ?? [] {
      text += ", \(Self.number(archive["files"])) files of archive \(archive["sink"]?.string ?? "?")"
    }
    return text + "\n"
  }

  private static func text(_ copy: JSONValue) -> String {
    let place =
      copy["log"]?["segment"]?.string.map { "\($0), offset \(number(copy["log"]?["offset"]))" }
      ?? "no longer there"
    let clamped = copy["clamped"]?.bool == true ? ", occurred_at clamped" : ""
    // (A relay of an older version doesn't say so.)
    let byProtocol = copy["protocol"]?.string.map { " (\($0))" } ?? ""
    var text =
      "seq \(number(copy["seq"])), \(copy["kind"]?.string ?? "?") of app \(copy["app"]?.string ?? "?")\(byProtocol), received at "
      + "\(copy["received_at"]?.string ?? "?")\(clamped)\nin the log: \(place)\n"
    var table = Table([.init("destination"), .init("state"), .init("attempts", isNumber: true), .init("detail")])
    for destination in copy["destinations"]?.array ?? [] {
      var details = [destination["detail"]?.string].compactMap { $0 }
      if let archive = destination["archive"], let file = archive["file"]?.string {
        details.append("\(file):\(number(archive["line"]))")
      }
      table.add([
        destination["name"]?.string ?? "", destination["state"]?.string ?? "", number(destination["attempts"]),
        details.joined(separator: "; "),
      ])
    }
    text += table.text
    for replay in copy["replays"]?.array ?? [] {
      text += "sent again to \(replay["destination"]?.string ?? "?"): \(replay["state"]?.string ?? "?")\n"
    }
    return text
  }

  private static func number(_ value: JSONValue?) -> String {
    if case .number(let text)? = value { text } else { "" }
  }
}
