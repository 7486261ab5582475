import Archive
import JSON

/// An archive's files, for people and for scripts.
struct ArchiveListTable {
  let isJSON: Bool
  private var table = Table([
    .init("file", isNumber: true), .init("name"), .init("events", isNumber: true), .init("bytes", isNumber: true),
    .init("received from"), .init("received until"), .init("erased", isNumber: true),
  ])

  init(isJSON: Bool) { self.isJSON = isJSON }

  /// Adds a file; returns what is to be printed of it at once.
  mutating func add(_ file: ManifestFile, erasedLines: Int) -> String? {
    if isJSON { return Self.json(file, erasedLines: erasedLines).description }
    table.add([
      String(file.file), file.name.lines, String(file.count), String(file.contents.bytes),
      file.receivedFrom.description, file.receivedUntil.description, erasedLines > 0 ? String(erasedLines) : "",
    ])
    return nil
  }

  /// What is to be printed at the end.
  var text: String { table.rows.isEmpty ? "" : table.text }

  private static func json(_ file: ManifestFile, erasedLines: Int) -> JSONValue {
    [
      "file": JSONValue(file.file), "name": .string(file.name.lines), "first_seq": JSONValue(file.firstSequence),
      "last_seq": JSONValue(file.lastSequence), "count": JSONValue(file.count), "erased": JSONValue(erasedLines),
      "bytes": JSONValue(file.contents.bytes), "sha256": .string(file.contents.sha256.description),
      "merkle_root": .string(file.merkleRoot.description),
      "received_from": .string(file.receivedFrom.description),
      "received_until": .string(file.receivedUntil.description),
    ]
  }
}
