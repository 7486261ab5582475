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
    let (length, torn) = try read(directory, path)
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
    _ directory: ArchiveDirectory, _ path: String
  ) throws(ArchiveError) -> (length: Int, torn: Int) {
    let lines = try ArchiveError.wrapping { () throws(FileError) in
      ManifestLines(try directory.open(ArchiveFileName.manifest, O_RDONLY), path: path, on: directory.system)
    }
    var isKnown = memory == nil || memory?.entries == 0
    while let line = try ArchiveError.wrapping({ () throws(FileError) in try lines.next() }) {
      do throws(ManifestFault) {
        _ = try chain.take(line)
      } catch {
        throw .manifest(path: path, error)
      }
      if let memory, memory.entries == chain.entries, memory.head.hash == chain.head { isKnown = true }
    }
    if let memory, !isKnown, memory.head.archive == chain.begin?.archive {
      throw .cut(path: path, entries: chain.entries, known: memory.entries, head: memory.head.hash)
    }
    return (lines.offset, lines.tornBytes)
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
