import Records

/// What an archive's directory holds, by the names in it.
struct ArchiveListing {
  /// Published files of which the lines, the salts or both are there; in no order, each once or twice.
  private(set) var published: [ArchiveFileName] = []
  /// Files that aren't published, by the name they are open under.
  private(set) var parts: Set<ArchiveFileName> = []
  private(set) var hasManifest = false
  /// Names that an archive doesn't give.
  private(set) var others: [String] = []

  init(_ directory: ArchiveDirectory) throws(FileError) {
    var listing = Self()
    try directory.forEachName { listing.take($0) }
    self = listing
  }

  private init() {}

  private mutating func take(_ name: String) {
    if name == ArchiveFileName.manifest {
      hasManifest = true
    } else if let parsed = ArchiveFileName.parse(name) {
      if parsed.name.last == nil { parts.insert(parsed.name) } else { published.append(parsed.name) }
    } else {
      others.append(name)
    }
  }

  /// Nothing of an archive is there, but perhaps a manifest.
  var isEmpty: Bool { published.isEmpty && parts.isEmpty }
}
