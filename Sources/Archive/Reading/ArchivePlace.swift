/// Where a line is in an archive. Places sort as the lines do.
public struct ArchivePlace: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The file's name.
  public var file: String
  /// The line's number, from 1. Erasing lines changes no other line's number.
  public var line: Int

  public init(file: String, line: Int) {
    self.file = file
    self.line = line
  }

  public static func < (one: ArchivePlace, other: ArchivePlace) -> Bool {
    (one.file, one.line) < (other.file, other.line)
  }

  /// `20261130T…-….ndjson.gz:17`
  public var description: String { "\(file):\(line)" }
}
