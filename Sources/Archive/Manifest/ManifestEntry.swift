import Clocks
import JSON

/// One line of a manifest. Each holds the hash of the one before, so that none can be changed, taken out or put in unseen.
public struct ManifestEntry: Sendable, Equatable {
  public enum Content: Sendable, Equatable {
    case begin(ManifestBegin)
    case file(ManifestFile)
    case removed(ManifestRemoval)
    case erased(ManifestErasure)
  }

  /// The line's number, from 1.
  public var number: Int
  /// When the line was written.
  public var at: Timestamp
  /// The hash of the line before; zeros in the first.
  public var previous: Digest
  public var content: Content

  public init(number: Int, at: Timestamp, previous: Digest, content: Content) {
    self.number = number
    self.at = at
    self.previous = previous
    self.content = content
  }
}

/// The first line: which archive this is.
public struct ManifestBegin: Sendable, Equatable {
  public static let version = 1

  public var archive: ArchiveID
  /// The instance whose events are in it.
  public var relay: String
  /// The sink that wrote it.
  public var sink: String
  /// The archive that this one goes on after, when that was removed or put elsewhere, and the hash of its last line.
  public var continues: ArchiveHead?

  public init(archive: ArchiveID, relay: String, sink: String, continues: ArchiveHead?) {
    self.archive = archive
    self.relay = relay
    self.sink = sink
    self.continues = continues
  }
}

/// How far an archive has come: what to note elsewhere, so that a shortened one can be told.
public struct ArchiveHead: Sendable, Equatable {
  public var archive: ArchiveID
  /// The hash of the manifest's last line.
  public var hash: Digest

  public init(archive: ArchiveID, hash: Digest) {
    self.archive = archive
    self.hash = hash
  }
}

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

/// The bytes of a published file and its salts, as they lie on disk.
public struct FileContents: Sendable, Equatable {
  public var bytes: Int
  public var sha256: Digest
  public var saltsBytes: Int
  public var saltsSHA256: Digest

  public init(bytes: Int, sha256: Digest, saltsBytes: Int, saltsSHA256: Digest) {
    self.bytes = bytes
    self.sha256 = sha256
    self.saltsBytes = saltsBytes
    self.saltsSHA256 = saltsSHA256
  }
}

/// A file that was removed because it was old. Files are removed in their order, none left out.
public struct ManifestRemoval: Sendable, Equatable {
  public static let retention = "retention"

  public var file: Int
  public var name: ArchiveFileName
  public var reason: String

  public init(file: Int, name: ArchiveFileName, reason: String = Self.retention) {
    self.file = file
    self.name = name
    self.reason = reason
  }
}

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
