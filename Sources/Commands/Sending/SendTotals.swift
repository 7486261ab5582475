/// How many events came to what.
struct SendTotals: Sendable, Equatable {
  var accepted = 0
  private(set) var rejected = 0
  /// Of the accepted.
  var clamped = 0
  var notSent = 0
  var requests = 0
  /// Of the rejected, those of which nobody was told which they are.
  var unnamed = 0
  private var byCode: [String: Int] = [:]

  /// Codes that are counted each by itself; a server that makes up more has the rest counted together.
  private static let codesMax = 32

  var events: Int { accepted + rejected + notSent }

  mutating func reject(_ code: String, _ count: Int = 1) {
    guard count > 0 else { return }
    rejected += count
    byCode[byCode[code] == nil && byCode.count >= Self.codesMax ? "other" : code, default: 0] += count
  }

  var text: String {
    let codes = byCode.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \(PrintableText.of($0.key))" }.joined(separator: ", ")
    let rows = [
      ("accepted", accepted, clamped > 0 ? "\(clamped) of them clamped: their time was out of range" : ""),
      ("rejected", rejected, codes), ("not sent", notSent, ""),
    ]
    let width = rows.map { String($0.1).count }.max() ?? 1
    return rows.map { name, count, note in
      let gap = String(repeating: " ", count: width - String(count).count)
      return "\(name)  \(gap)\(count)" + (note.isEmpty ? "" : "  (\(note))") + "\n"
    }.joined()
  }
}
