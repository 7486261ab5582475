/// Lines that were erased from a file: the file was written anew, with nothing in their place, and nothing else changed.
public struct ManifestErasure: Sendable, Equatable {
  public var file: Int
  public var name: ArchiveFileName
  /// Which lines, from 1, were erased by this: ascending, apart from each other.
  public var lines: [ClosedRange<Int>]
  /// Lines that are left.
  public var count: Int
  /// The file as it is from now on.
  public var contents: FileContents
  public var merkleRoot: Digest

  public init(
    file: Int, name: ArchiveFileName, lines: [ClosedRange<Int>], count: Int, contents: FileContents, merkleRoot: Digest
  ) {
    self.file = file
    self.name = name
    self.lines = lines
    self.count = count
    self.contents = contents
    self.merkleRoot = merkleRoot
  }
}
