import Clocks
import Records

/// Writes an archive: appends lines to an open file, publishes it, removes old ones, and keeps the manifest.
///
/// The files say themselves how far they have come, so that after a crash opening them again is all it takes; see
/// ``init(_:memory:now:on:random:)``. When a call throws, ``recover()`` comes before the next one.
///
/// One process at a time writes an archive. Not thread-safe. Blocks in file calls.
public final class ArchiveWriter {
  /// Where an archive is, and whose events are in it.
  public struct Place: Sendable, Equatable {
    /// The directory: absolute.
    public var path: String
    /// The instance's id.
    public var relay: String
    public var sink: String

    public init(path: String, relay: String, sink: String) {
      self.path = path
      self.relay = relay
      self.sink = sink
    }
  }

  let directory: ArchiveDirectory
  let manifest: AppendedFile
  var chain: ManifestChain
  let archive: ArchiveID
  /// What was found and done when it was opened.
  public internal(set) var notes: [ArchiveNote]
  var part: OpenPart?
  /// The time that names files.
  var newest: Timestamp
  /// A file is in the manifest and may not bear its published name yet.
  var isPublishing = false
  let tools: PartTools
  // Where the retention looks next.
  var sweepOffset = 0
  var unremoved: [ArchiveFileName] = []

  init(
    directory: ArchiveDirectory, manifest: AppendedFile, chain: ManifestChain, archive: ArchiveID,
    notes: [ArchiveNote], newest: Timestamp, tools: PartTools
  ) {
    self.directory = directory
    self.manifest = manifest
    self.chain = chain
    self.archive = archive
    self.notes = notes
    self.newest = newest
    self.tools = tools
  }

  public var path: String { directory.path }

  /// The number of the newest event in the archive, in the open file too: what comes up to it is there already.
  public var lastSequence: UInt64? {
    if let part, part.totals.count > 0 { return part.totals.lastSequence }
    return chain.lastSequence
  }

  /// What is to be committed now: how far the archive is synced.
  public var memory: ArchiveMemory {
    var memory = ArchiveMemory(head: head, entries: chain.entries, newest: newest)
    if let part, part.synced.count > 0 {
      memory.part = ArchiveMemory.Part(
        time: part.name.time, first: part.name.first, last: part.synced.lastSequence, count: part.synced.count,
        bytes: part.lines.syncedLength)
    }
    return memory
  }

  /// The hash to note elsewhere.
  public var head: ArchiveHead { ArchiveHead(archive: archive, hash: chain.head) }

  public var openFile: OpenFile? {
    part.map {
      OpenFile(
        time: $0.name.time, path: $0.lines.path, bytes: $0.bytes, count: $0.totals.count,
        unsyncedBytes: $0.unsyncedBytes)
    }
  }

  /// The file that lines are appended to.
  public struct OpenFile: Sendable, Equatable {
    /// The time in its name.
    public var time: Timestamp
    public var path: String
    /// Compressed bytes, but for what the compressor holds back.
    public var bytes: Int
    /// Lines.
    public var count: Int
    /// Bytes of the lines that aren't synced.
    public var unsyncedBytes: Int
  }

  /// Begins a file.
  ///
  /// - Parameters:
  ///   - time: of its first event; a time before that of the last file counts as that one.
  ///   - sequence: of its first event.
  public func begin(at time: Timestamp, first sequence: UInt64) throws(ArchiveError) {
    precondition(part == nil && !isPublishing, "the last file isn't published")
    newest = max(newest, time)
    let name = ArchiveFileName(time: newest, first: sequence)
    do throws(FileError) {
      part = try PartOpening(directory: directory, archive: archive, tools: tools).create(name)
    } catch {
      throw .file(error)
    }
  }

  /// Appends lines to the open file; they count once ``sync()`` has returned.
  ///
  /// - Parameters:
  ///   - bytes: the lines, each with its line feed.
  ///   - notes: one for each line; their numbers ascend, from above ``lastSequence``.
  public func append(_ bytes: UnsafeRawBufferPointer, _ notes: ArraySlice<ArchiveLine>) throws(ArchiveError) {
    guard let part else { preconditionFailure("no file is open") }
    do throws(FileError) {
      try part.append(bytes, notes)
    } catch {
      throw .file(error)
    }
  }

  /// Makes what was appended durable.
  public func sync() throws(ArchiveError) {
    do throws(FileError) {
      try part?.sync()
    } catch {
      throw .file(error)
    }
  }

  /// Puts everything back to what is synced, after something has thrown.
  public func recover() throws(ArchiveError) {
    do throws(FileError) {
      try part?.cutBack()
      if part?.totals.count == 0 { try dropPart() }
      try manifest.cutBack()
      try finishPublishing()
    } catch {
      throw .file(error)
    }
  }

  /// Takes the open file away, which nothing is in.
  private func dropPart() throws(FileError) {
    guard let name = part?.name else { return }
    part = nil
    try directory.remove(name.lines)
    try directory.remove(name.salts)
  }

  /// Writes an entry behind the others, durably. After a failure ``recover()`` cuts it off again.
  func write(_ content: ManifestEntry.Content, at now: Timestamp) throws(ArchiveError) {
    let entry = ManifestEntry(number: chain.entries + 1, at: now, previous: chain.head, content: content)
    let line = entry.line.bytes
    // Nothing is written that wouldn't be read.
    let next = try chain.following(line, in: manifest.path)
    do throws(FileError) {
      try manifest.append(line)
      try manifest.sync()
    } catch {
      throw .file(error)
    }
    chain = next
  }
}
