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
