import Records

/// A look at an archive that is cheap at any size: its whole manifest, and whether each file is there with the length that
/// the manifest says. What is in the files is for ``ArchiveVerification``.
///
/// Reads only; a relay may go on writing meanwhile. Blocks in file calls.
public struct ArchiveGlance: Sendable, Equatable {
  public private(set) var begin: ManifestBegin
  /// Lines of the manifest.
  public private(set) var entries = 0
  /// Files that are there.
  public private(set) var files = 0
  /// Events that were ever written to published files, removed and erased ones among them.
  public private(set) var events = 0
  /// The number of the newest of them; nil without one.
  public private(set) var lastSequence: UInt64?
  /// What is wrong, the first of it first; no more than ``ArchiveReport/faultsMax``.
  public private(set) var faults: [ArchiveFault] = []
  /// Whether the manifest has the head that was noted, or none was.
  public private(set) var hasHead: Bool

  /// - Parameter noted: the hash of a line that the manifest must have.
  /// - Throws: when there is no archive, its manifest isn't what was written, or it can't be read.
  public static func look(
    _ directory: String, noted: Digest? = nil, on system: FileSystem = .system
  ) throws(ArchiveError) -> ArchiveGlance {
    let reader = try ArchiveReader(directory: directory, on: system)
    var glance = ArchiveGlance(begin: reader.begin, hasHead: noted == nil)
    let chain = try glance.follow(reader, noted)
    try glance.checkFiles(reader, chain)
    return glance
  }

  private init(begin: ManifestBegin, hasHead: Bool) {
    self.begin = begin
    self.hasHead = hasHead
  }

  private mutating func follow(_ reader: ArchiveReader, _ noted: Digest?) throws(ArchiveError) -> ManifestChain {
    var chain = ManifestChain()
    let lines = try ArchiveReader.manifest(try ArchiveReader.open(reader.directory, reader.system))
    while let (hash, entry) = try ArchiveReader.next(lines, &chain) {
      if hash == noted { hasHead = true }
      if case .file(let file) = entry.content { events += file.count }
    }
    entries = chain.entries
    lastSequence = chain.lastSequence
    return chain
  }

  private mutating func checkFiles(_ reader: ArchiveReader, _ chain: ManifestChain) throws(ArchiveError) {
    let directory = try ArchiveReader.open(reader.directory, reader.system)
    let lines = try ArchiveReader.manifest(directory)
    var current = ManifestChain()
    while current.entries < chain.entries, let (_, entry) = try ArchiveReader.next(lines, &current) {
      guard case .file(let file) = entry.content, file.file > chain.removedFiles else { continue }
      files += 1
      let contents = chain.erasures[file.file]?.newest.contents ?? file.contents
      // A file gets its name after its line in the manifest; while lines are erased, either of two lengths is right.
      let isChanging = chain.endsInErasure && file.name == chain.lastErased
      let names =
        [(file.name.lines, file.name.open.lines, contents.bytes, file.contents.bytes)] + [
          (file.name.salts, file.name.open.salts, contents.saltsBytes, file.contents.saltsBytes)
        ]
      for (name, open, bytes, bytesBefore) in names {
        var length = try length(of: name, in: directory)
        if length == nil, file == chain.lastFile {
          if let found = try self.length(of: open, in: directory) {
            length = found
          } else {
            length = try self.length(of: name, in: directory)
          }
        }
        guard let length else {
          add(ArchiveFault(name, "is missing, and the manifest has no line about its removal"))
          continue
        }
        guard length != bytes, !(isChanging && length == bytesBefore) else { continue }
        add(ArchiveFault(name, "has \(length) bytes, and the manifest says \(bytes): it was changed"))
      }
    }
  }

  private func length(of name: String, in directory: ArchiveDirectory) throws(ArchiveError) -> Int? {
    try ArchiveError.wrapping { () throws(FileError) in try directory.facts(of: name)?.length }
  }

  private mutating func add(_ fault: ArchiveFault) {
    if faults.count < ArchiveReport.faultsMax { faults.append(fault) }
  }
}
