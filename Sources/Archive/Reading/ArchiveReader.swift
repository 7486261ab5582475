import Glibc
import Records

/// Reads an archive's published files; a relay may go on writing it meanwhile.
///
/// Holds one line in memory, whatever the archive's size. Reads the files and changes nothing. Blocks in file calls.
/// A value: it opens what it needs, for as long as it needs it.
public struct ArchiveReader: Sendable {
  public let directory: String
  let system: FileSystem
  /// The archive's first entry: whose events these are.
  public let begin: ManifestBegin

  /// - Throws: `noDirectory` and `noManifest`, among others.
  public init(directory: String, on system: FileSystem = .system) throws(ArchiveError) {
    self.directory = directory
    self.system = system
    var begin: ManifestBegin?
    let manifest = try Self.manifest(try Self.open(directory, system))
    try Self.forEachEntry(manifest) { _, entry in
      if case .begin(let found) = entry.content { begin = found }
      return false
    }
    guard let begin else {
      throw .manifest(path: manifest.path, ManifestFault(line: 1, "is missing: the manifest was truncated"))
    }
    self.begin = begin
  }

  /// How much there is to read.
  public struct Extent: Sendable, Equatable {
    public var files = 0
    /// Events, without those that were erased.
    public var events = 0
    /// Compressed bytes, without salts.
    public var bytes = 0
    /// Files that the retention removed.
    public var removedFiles = 0
    /// Lines that were erased from files that are there.
    public var erasedLines = 0
    public var firstSequence, lastSequence: UInt64?
  }

  /// What is there of the files that aren't skipped.
  public func extent(skippingFiles skips: (ManifestFile) -> Bool = { _ in false }) throws(ArchiveError) -> Extent {
    try extent(of: try chain(), skippingFiles: skips)
  }

  /// - Parameter chain: how far the manifest counts.
  func extent(of chain: ManifestChain, skippingFiles skips: (ManifestFile) -> Bool) throws(ArchiveError) -> Extent {
    var extent = Extent()
    extent.removedFiles = chain.removedFiles
    try forEachFile(of: chain) { file, erasedLines in
      guard !skips(file) else { return true }
      extent.files += 1
      extent.events += file.count - erasedLines
      extent.erasedLines += erasedLines
      extent.bytes += chain.erasures[file.file]?.newest.contents.bytes ?? file.contents.bytes
      extent.firstSequence = extent.firstSequence ?? file.firstSequence
      extent.lastSequence = file.lastSequence
      return true
    }
    return extent
  }

  /// Hands out the published files that are there, in their order, until the visitor returns false.
  ///
  /// - Parameter visit: gets how many of the file's lines were erased, too.
  public func forEachFile(_ visit: (ManifestFile, _ erasedLines: Int) -> Bool) throws(ArchiveError) {
    try forEachFile(of: try chain(), visit)
  }

  private func forEachFile(
    of chain: ManifestChain, _ visit: (ManifestFile, _ erasedLines: Int) -> Bool
  ) throws(ArchiveError) {
    try Self.forEachEntry(try Self.manifest(try Self.open(directory, system))) { _, entry in
      guard entry.number <= chain.entries else { return false }
      guard case .file(let file) = entry.content, file.file > chain.removedFiles else { return true }
      return visit(file, chain.erasures[file.file]?.count ?? 0)
    }
  }

  /// Names of the files that are written to now, and aren't published.
  public func openFiles() throws(ArchiveError) -> [String] {
    let directory = try Self.open(directory, system)
    let listing = try ArchiveError.wrapping { () throws(FileError) in try ArchiveListing(directory) }
    let published = try chain().lastFile?.name.open
    return listing.parts.filter { $0 != published }.sorted().map(\.lines)
  }

  /// Hands out the lines of the published files in their order, each without its line feed, until the visitor returns false.
  ///
  /// A file's lines are handed out before all of it is checked: what was damaged shows at the latest at the file's end.
  /// - Parameters:
  ///   - place: the first line that is wanted; it needn't be there any more.
  ///   - skips: whether a whole file isn't wanted, by what the manifest says of it.
  ///   - visit: the bytes are good until it returns.
  /// - Throws: `damaged` names the file that isn't what the manifest says.
  public func forEachLine(
    from place: ArchivePlace? = nil, skippingFiles skips: (ManifestFile) -> Bool = { _ in false },
    _ visit: (ArchivePlace, UnsafeRawBufferPointer) -> Bool
  ) throws(ArchiveError) {
    let directory = try Self.open(directory, system)
    var chain = try chain()
    let entries = try Self.manifest(directory)
    var current = ManifestChain()
    while let (_, entry) = try Self.next(entries, &current) {
      guard case .file(let file) = entry.content, file.file > chain.removedFiles, !skips(file) else { continue }
      let name = file.name.lines
      if let place, name < place.file { continue }
      guard let lines = try lines(of: file, in: directory) else {
        // The retention may have removed it meanwhile; then the manifest says so by now.
        chain = try self.chain()
        if file.file <= chain.removedFiles { continue }
        throw .damaged(path: directory.path(of: name), detail: "is missing, and the manifest doesn't say why")
      }
      let first = place.flatMap { $0.file == name ? $0.line : nil } ?? 1
      guard try read(lines, of: name, from: first, visit) else { return }
      try check(lines, file, &chain)
    }
  }

  /// - Returns: false when the visitor wants no more.
  private func read(
    _ lines: GzipLines, of name: String, from first: Int, _ visit: (ArchivePlace, UnsafeRawBufferPointer) -> Bool
  ) throws(ArchiveError) -> Bool {
    var place = ArchivePlace(file: name, line: 0)
    while true {
      switch try lines.next() {
      case .end: return true
      case .memberEnd: break
      case .line(let line):
        place.line += 1
        // An erased line is empty.
        guard place.line >= first, !line.isEmpty else { continue }
        guard visit(place, line) else { return false }
      }
    }
  }

  /// Compares a file that was read to its end with what the manifest says.
  private func check(_ lines: GzipLines, _ file: ManifestFile, _ chain: inout ManifestChain) throws(ArchiveError) {
    let found = lines.hash.end()
    func expected() -> Digest { chain.erasures[file.file]?.newest.contents.sha256 ?? file.contents.sha256 }
    if found == expected() { return }
    // Lines may have been erased meanwhile.
    chain = try self.chain()
    guard found == expected() || found == file.contents.sha256 else {
      throw .damaged(
        path: lines.path,
        detail: "is not what was archived: its SHA-256 is \(found), and the manifest says \(expected())")
    }
  }

  private func lines(of file: ManifestFile, in directory: ArchiveDirectory) throws(ArchiveError) -> GzipLines? {
    // A file gets its name after its line in the manifest.
    for name in [file.name.lines, file.name.open.lines, file.name.lines] {
      do throws(FileError) {
        return GzipLines(try directory.open(name, O_RDONLY), path: directory.path(of: name), on: system)
      } catch {
        guard error.code == ENOENT else { throw .file(error) }
      }
    }
    return nil
  }
}

extension ArchiveReader {
  /// What the whole manifest comes to now.
  func chain() throws(ArchiveError) -> ManifestChain {
    var chain = ManifestChain()
    let lines = try Self.manifest(try Self.open(directory, system))
    while try Self.next(lines, &chain) != nil {}
    return chain
  }

  static func open(_ path: String, _ system: FileSystem) throws(ArchiveError) -> ArchiveDirectory {
    do throws(FileError) {
      return try ArchiveDirectory(path, on: system)
    } catch {
      throw error.code == ENOENT ? .noDirectory(path) : .file(error)
    }
  }

  static func manifest(_ directory: ArchiveDirectory) throws(ArchiveError) -> ManifestLines {
    let path = directory.path(of: ArchiveFileName.manifest)
    do throws(FileError) {
      return ManifestLines(try directory.open(ArchiveFileName.manifest, O_RDONLY), path: path, on: directory.system)
    } catch {
      guard error.code == ENOENT else { throw .file(error) }
    }
    let listing = try ArchiveError.wrapping { () throws(FileError) in try ArchiveListing(directory) }
    throw .noManifest(directory.path, hasFiles: !listing.isEmpty)
  }

  /// The next line, followed by the chain, and its hash; nil at the manifest's end.
  static func next(
    _ lines: ManifestLines, _ chain: inout ManifestChain
  ) throws(ArchiveError) -> (hash: Digest, entry: ManifestEntry)? {
    guard let line = try ArchiveError.wrapping({ () throws(FileError) in try lines.next() }) else { return nil }
    do throws(ManifestFault) {
      let entry = try chain.take(line)
      return (chain.head, entry)
    } catch {
      throw .manifest(path: lines.path, error)
    }
  }

  static func forEachEntry(
    _ lines: ManifestLines, _ visit: (Digest, ManifestEntry) -> Bool
  ) throws(ArchiveError) {
    var chain = ManifestChain()
    while let (hash, entry) = try next(lines, &chain) {
      guard visit(hash, entry) else { return }
    }
  }
}
