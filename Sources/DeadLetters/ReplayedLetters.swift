import JSON
import Observability
import Records

/// Which lines of a file of dead letters were put back to their destination: `NAME.ndjson.replayed` beside it.
struct ReplayedLetters: Sendable {
  static let ending = ".replayed"
  static let format = "event-relay-replayed-letters"
  static let version = 1

  let directory: String
  let system: FileSystem

  private func path(of file: String) -> String { "\(directory)/\(file)\(Self.ending)" }

  /// The lines of a file; none when nothing was put back.
  ///
  /// - Throws: when the note can't be read: then nothing may be put back, since it could be for the second time.
  func lines(of file: String) throws(FileError) -> LineSet {
    guard let bytes = try system.readWhole(path(of: file)) else { return LineSet() }
    guard let json = try? JSONValue(parsing: bytes), json["format"]?.string == Self.format,
      json["version"]?.integer() == Self.version, let lines = json["lines"].flatMap(LineSet.init)
    else { throw FileError(.read, path(of: file), code: FileError.malformed) }
    return lines
  }

  /// Adds lines to those of a file, in one atomic write.
  func add(_ lines: LineSet, of file: String) throws(FileError) {
    var all = try self.lines(of: file)
    all.formUnion(lines)
    let json: JSONValue = ["format": .string(Self.format), "version": JSONValue(Self.version), "lines": all.json]
    try system.replace(path(of: file), with: json.utf8 + [UInt8(ascii: "\n")])
  }

  func remove(of file: String) throws(FileError) { try system.remove(path(of: file)) }
}
