import Clocks
import Glibc
import Records

/// Opens the manifest, or makes it, and reads it.
struct ArchiveOpening {
  let place: ArchiveWriter.Place
  let memory: ArchiveMemory?
  let now: Timestamp
  let tools: PartTools
  let random: RandomBytes.Source
  private(set) var chain = ManifestChain()
  private(set) var notes: [ArchiveNote] = []

  init(
    place: ArchiveWriter.Place, memory: ArchiveMemory?, now: Timestamp, tools: PartTools,
    random: @escaping RandomBytes.Source
  ) {
    self.place = place
    self.memory = memory
    self.now = now
    self.tools = tools
    self.random = random
  }

  mutating func openManifest(
    in directory: ArchiveDirectory, _ files: ArchiveListing
  ) throws(ArchiveError) -> AppendedFile {
    let path = directory.path(of: ArchiveFileName.manifest)
    if !files.hasManifest, !files.isEmpty { throw .noManifest(directory.path, hasFiles: true) }
    let manifest = try ArchiveError.wrapping { () throws(FileError) in
      let descriptor = try directory.open(ArchiveFileName.manifest, O_RDWR | O_APPEND | O_CREAT, .create)
      let manifest = AppendedFile(descriptor, path: path, length: 0, on: directory.system)
      try manifest.lock()
      return manifest
    }
    let (length, torn) = try read(directory, path, files)
    if length == 0 {
      guard files.isEmpty else { throw .noManifest(directory.path, hasFiles: true) }
      try ArchiveError.wrapping { () throws(FileError) in try manifest.cut(to: 0) }
      try begin(manifest, directory)
      return manifest
    }
    guard chain.begin?.relay == place.relay else {
      throw .foreign(path: directory.path, relay: chain.begin?.relay ?? "")
    }
    // Syncs, too, what a process that was killed had written and not synced.
    try ArchiveError.wrapping { () throws(FileError) in try manifest.cut(to: length) }
    if torn > 0 { notes.append(.manifestCut(bytes: torn)) }
    if let memory, memory.head.archive != chain.begin?.archive { notes.append(.otherArchive(path: directory.path)) }
    return manifest
  }

  /// Follows the whole lines of a manifest.
  private mutating func read(
    _ directory: ArchiveDirectory, _ path: String, _ files: ArchiveListing
  ) throws(ArchiveError) -> (length: Int, torn: Int) {
    let lines = try ArchiveError.wrapping { () throws(FileError) in
      ManifestLines(try directory.open(ArchiveFileName.manifest, O_RDONLY), path: path, on: directory.system)
    }
    var isKnown = memory == nil || memory?.entries == 0
    var start = lines.offset
    while let line = try ArchiveError.wrapping({ () throws(FileError) in try lines.next() }) {
      do throws(ManifestFault) {
        _ = try chain.take(line)
      } catch {
        guard isKnown, try isTorn(line, lines, files) else { throw .manifest(path: path, error) }
        return (start, lines.offset + lines.tornBytes - start)
      }
      start = lines.offset
      if let memory, memory.entries == chain.entries, memory.head.hash == chain.head { isKnown = true }
    }
    if let memory, !isKnown, memory.head.archive == chain.begin?.archive {
      throw .cut(path: path, entries: chain.entries, known: memory.entries, head: memory.head.hash)
    }
    return (lines.offset, lines.tornBytes)
  }

  /// Whether a line that doesn't hold is what a cut of power left of the last one: its later sectors, with the line feed,
  /// reached the disk, and earlier ones didn't.
  ///
  /// Only a line that was never synced can be that. One that was committed isn't (the caller sees to it), nor one with whole
  /// lines behind it, nor one whose file has its name already, since that is given after the sync.
  private func isTorn(
    _ line: UnsafeRawBufferPointer, _ lines: ManifestLines, _ files: ArchiveListing
  ) throws(ArchiveError) -> Bool {
    guard !ManifestEntry.isWhole(line), chain.entries >= memory?.entries ?? 0 else { return false }
    let last = chain.lastSequence ?? 0
    guard files.published.allSatisfy({ $0.first <= last }) else { return false }
    while let next = try ArchiveError.wrapping({ () throws(FileError) in try lines.next() }) {
      if ManifestEntry.isWhole(next) { return false }
    }
    return true
  }

  private mutating func begin(_ manifest: AppendedFile, _ directory: ArchiveDirectory) throws(ArchiveError) {
    let begin = ManifestBegin(
      archive: ArchiveID(random), relay: place.relay, sink: place.sink, continues: memory?.head)
    let line = ManifestEntry(number: 1, at: now, previous: .zero, content: .begin(begin)).line.bytes
    let next = try chain.following(line, in: manifest.path)
    try ArchiveError.wrapping { () throws(FileError) in
      try manifest.append(line)
      try manifest.sync()
      try directory.sync()
    }
    chain = next
    notes.append(.begun(path: directory.path, continues: memory?.head))
  }
}
