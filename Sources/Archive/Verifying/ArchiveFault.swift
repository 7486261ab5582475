/// Something that isn't what was archived.
public struct ArchiveFault: Sendable, Equatable, CustomStringConvertible {
  /// The file's name, in the archive's directory.
  public var file: String
  /// The line in it, from 1; nil when it is about the whole file.
  public var line: Int?
  /// What differs: the end of a sentence that begins with the place.
  public var detail: String

  init(_ file: String, line: Int? = nil, _ detail: String) {
    self.file = file
    self.line = line
    self.detail = detail
  }

  public var description: String { file + (line.map { ", line \($0)" } ?? "") + ": " + detail }
}
