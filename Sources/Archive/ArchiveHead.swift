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
