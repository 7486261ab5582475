import Configuration
import JSON

/// The admin's `/status` for people. What is missing in it is left out.
enum StatusTables {
  static func text(_ status: JSONValue) -> String {
    var parts = [head(status)]
    let destinations = status["destinations"]?.array ?? []
    if !destinations.isEmpty { parts.append(table(destinations).text) }
    let lanes = lanes(destinations)
    if !lanes.rows.isEmpty { parts.append(lanes.text) }
    let notes = destinations.flatMap(notes)
    if !notes.isEmpty { parts.append(notes.map { $0 + "\n" }.joined()) }
    return parts.joined(separator: "\n")
  }

  private static func head(_ status: JSONValue) -> String {
    var rows: [(String, String)] = []
    var relay = status["version"]?.string ?? "?"
    if let uptime = status["uptime_seconds"]?.double { relay += ", up \(duration(uptime))" }
    if let id = status["relay"]?.string { relay += ", instance \(id)" }
    rows.append(("relay", relay))
    if let listen = status["ingest"]?["listen"]?.array, !listen.isEmpty {
      rows.append(("takes events at", listen.compactMap(\.string).joined(separator: ", ")))
    }
    if status["ingest"]?["draining"]?.bool == true {
      rows.append(("drained", "takes no more events in; event-relay drain --stop ends that"))
    }
    if let listen = status["admin"]?["listen"]?.string, !listen.isEmpty { rows.append(("admin at", listen)) }
    if let listen = status["stand_in"]?["listen"]?.string { rows.append(("stand-in at", listen)) }
    rows += certificates(status)
    if let log = status["log"] { rows += self.log(log) }
    if let accepted = status["ledger"]?["accepted"]?.integer(as: Int.self) {
      rows.append(("accepted", "\(accepted) events"))
    }
    if let suppressed = status["ledger"]?["suppressed"].flatMap(suppressed) { rows.append(("suppressed", suppressed)) }
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, value in
      title + String(repeating: " ", count: width - title.count) + "  " + PrintableText.of(value) + "\n"
    }.joined()
  }

  /// Until when the certificates of listeners that speak TLS are good.
  private static func certificates(_ status: JSONValue) -> [(String, String)] {
    ["ingest", "admin"].compactMap { door in
      guard let tls = status[door]?["tls"] else { return nil }
      let clients = tls["client_certificates"]?.bool == true ? ", clients show one too" : ""
      return ("\(door) by TLS", "certificate good until \(tls["certificate_expires_at"]?.string ?? "?")\(clients)")
    }
  }

  /// What deny lists have kept out; nil when that is nothing.
  private static func suppressed(_ suppressed: JSONValue) -> String? {
    let since = suppressed["counts_since"]?.string.map { ", counted anew since \($0)" } ?? ""
    guard let total: UInt64 = suppressed["total"]?.integer(), total > 0 || !since.isEmpty else { return nil }
    let apps = (suppressed["apps"]?.members ?? []).map { "\($0.key) \(number($0.value))" }
    let shown = apps.prefix(5).joined(separator: ", ") + (apps.count > 5 ? ", …" : "")
    return "\(total) events, kept out by deny lists\(since)" + (apps.isEmpty ? "" : " (\(shown))")
  }

  private static func log(_ log: JSONValue) -> [(String, String)] {
    var text = log["health"]?.string ?? "?"
    if let detail = log["detail"]?.string { text += " (\(detail))" }
    if let bytes = log["bytes"]?.integer(as: Int.self) {
      text += ", \(SizeText.rounded(bytes))"
      if let most = log["max_bytes"]?.integer(as: Int.self) { text += " of \(SizeText.rounded(most))" }
    }
    if let segments = log["segments"]?.integer(as: Int.self) {
      text += ", \(segments) \(segments == 1 ? "segment" : "segments")"
    }
    if let retained = log["retained_bytes"]?.integer(as: Int.self), retained > 0 {
      text += ", \(SizeText.rounded(retained)) kept for replay"
    }
    if let oldest = log["oldest"]?.string { text += ", oldest \(oldest)" }
    var rows = [("log", text)]
    if let dropped = log["dropped_events"]?.integer(as: Int.self), dropped > 0 {
      rows.append(("dropped", "\(dropped) events, because the log was full"))
    }
    if let corrupt = log["corrupt_records"]?.integer(as: Int.self), corrupt > 0 {
      rows.append(("damaged", "\(corrupt) records of the log; event-relay log verify says where"))
    }
    return rows
  }

  private static func table(_ destinations: [JSONValue]) -> Table {
    var table = Table([
      .init("destination"), .init("type"), .init("state"), .init("waiting", isNumber: true),
      .init("oldest", isNumber: true), .init("delivered", isNumber: true), .init("dead", isNumber: true),
      .init("dropped", isNumber: true), .init("lost", isNumber: true), .init("holds", isNumber: true),
      .init("retry at"),
    ])
    for destination in destinations {
      let ledger = destination["ledger"]
      let oldest = destination["oldest_pending_seconds"]?.double ?? 0
      table.add([
        destination["name"]?.string ?? "", destination["type"]?.string ?? "", destination["state"]?.string ?? "",
        number(destination["pending"]), oldest > 0 ? duration(oldest) : "", number(ledger?["delivered"]),
        number(ledger?["dead_lettered"]), number(ledger?["dropped"]), number(ledger?["lost"]),
        held(destination), destination["retry_at"]?.string ?? "",
      ])
    }
    return table
  }

  /// How much of the log the destination keeps from being freed.
  private static func held(_ destination: JSONValue) -> String {
    guard let bytes = destination["held_bytes"]?.integer(as: Int.self), bytes > 0 else { return "" }
    return SizeText.rounded(bytes)
  }

  /// The apps of destinations that have several, or one that doesn't just run.
  private static func lanes(_ destinations: [JSONValue]) -> Table {
    var table = Table([
      .init("destination"), .init("app"), .init("state"), .init("waiting", isNumber: true),
      .init("events/s", isNumber: true), .init("parked installs", isNumber: true), .init("drains in", isNumber: true),
      .init("retry at"),
    ])
    for destination in destinations {
      let lanes = destination["lanes"]?.array ?? []
      guard lanes.count > 1 || lanes.contains(where: isWorthTelling) else { continue }
      for lane in lanes {
        table.add([
          destination["name"]?.string ?? "",
          (lane["app"]?.string ?? "") + (lane["replayed"]?.bool == true ? " (replayed)" : ""),
          lane["state"]?.string ?? "",
          number(lane["pending"]), number(lane["events_per_second"]), number(lane["parked_installs"]),
          lane["drains_in_seconds"]?.double.map(duration) ?? "", lane["retry_at"]?.string ?? "",
        ])
      }
    }
    return table
  }

  private static func isWorthTelling(_ lane: JSONValue) -> Bool {
    lane["state"]?.string != "running" || lane["parked_installs"]?.integer(as: Int.self) ?? 0 > 0
  }

  /// What each destination says about itself, once each.
  private static func notes(_ destination: JSONValue) -> [String] {
    let name = destination["name"]?.string ?? "?"
    var out: [String] = []
    if let detail = destination["detail"]?.string { out.append("\(name): \(detail)") }
    let waited = destination["oldest_pending_seconds"]?.double ?? 0
    if waited > 86_400, let moment = destination["clamping_begins_at"]?.string {
      out.append("\(name): unless the oldest event goes, its time is replaced from \(moment) on")
    }
    if let error = destination["last_error"]?.string { out.append("\(name): last error: \(error)") }
    for lane in destination["lanes"]?.array ?? [] {
      guard let detail = lane["detail"]?.string, detail != destination["detail"]?.string else { continue }
      out.append("\(name), \(lane["app"]?.string ?? "?"): \(detail)")
    }
    return out.map(PrintableText.of)
  }

  private static func number(_ value: JSONValue?) -> String {
    if case .number(let text)? = value { text } else { "" }
  }

  private static func duration(_ seconds: Double) -> String {
    DurationText.rounded(.milliseconds(Int64(min(max(seconds, 0), 1e12) * 1000)))
  }
}
