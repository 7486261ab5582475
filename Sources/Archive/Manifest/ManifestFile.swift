import Clocks

/// A published file.
public struct ManifestFile: Sendable, Equatable {
  /// Counts the archive's files, from 1.
  public var file: Int
  public var name: ArchiveFileName
  /// Lines; one an event.
  public var count: Int
  public var contents: FileContents
  /// The root over the lines' salted hashes. Stays what it is when lines are erased.
  public var merkleRoot: Digest
  /// The earliest and the latest `received_at` in it.
  public var receivedFrom, receivedUntil: Timestamp

  public var firstSequence: UInt64 { name.first }
  public var lastSequence: UInt64 { name.last ?? name.first }

  public init(
    file: Int, name: ArchiveFileName, count: Int, contents: FileContents, merkleRoot: Digest, receivedFrom: Timestamp,
    receivedUntil: Timestamp
  ) {
    self.file = file
    self.name = name
    self.count = count
    self.contents = contents
    self.merkleRoot = merkleRoot
    self.receivedFrom = receivedFrom
    self.receivedUntil = receivedUntil
  }
}
