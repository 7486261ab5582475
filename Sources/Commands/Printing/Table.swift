/// Rows in aligned columns under a line of titles.
struct Table: Sendable, Equatable {
  struct Column: Sendable, Equatable {
    var title: String
    /// Numbers stand at the right.
    var isNumber = false

    init(_ title: String, isNumber: Bool = false) {
      self.title = title
      self.isNumber = isNumber
    }
  }

  let columns: [Column]
  private(set) var rows: [[String]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with a cell for each column; an empty one shows as `-`.
  mutating func add(_ cells: [String]) {
    precondition(cells.count == columns.count, "a row has a cell for each column")
    rows.append(cells.map { $0.isEmpty ? "-" : PrintableText.of($0) })
  }

  /// The table's lines, each with its line break.
  var text: String {
    let titles = columns.map { $0.title.uppercased() }
    var widths = titles.map(\.count)
    for row in rows { for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) } }
    return ([titles] + rows).map { line($0, widths) + "\n" }.joined()
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var out = ""
    for (index, cell) in cells.enumerated() {
      let gap = String(repeating: " ", count: widths[index] - cell.count)
      out += (index == 0 ? "" : "  ") + (columns[index].isNumber ? gap + cell : cell + gap)
    }
    while out.last == " " { out.removeLast() }
    return out
  }
}
