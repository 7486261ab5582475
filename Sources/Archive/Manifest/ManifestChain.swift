import Clocks

/// Follows a manifest's lines and tells the first that doesn't fit: lines in, entries out, and what they come to.
///
/// A value without I/O; its size doesn't grow with the lines, but by a little for each file that lines were erased from.
struct ManifestChain: Sendable {
  /// Lines so far.
  private(set) var entries = 0
  /// The hash of the last line.
  private(set) var head = Digest.zero
  private(set) var begin: ManifestBegin?
  /// The newest file.
  private(set) var lastFile: ManifestFile?
  /// Whether the newest file is what the last line is about.
  private(set) var endsInFile = false
  /// How many files, the oldest first, were removed.
  private(set) var removedFiles = 0
  /// The last file that was removed.
  private(set) var lastRemoved: ArchiveFileName?
  /// What was erased from files that are still there, by the files' numbers.
  private(set) var erasures: [Int: ErasedLines] = [:]
  /// Whether an erasure is what the last line is about.
  private(set) var endsInErasure = false
  /// The file that lines were erased from last.
  private(set) var lastErased: ArchiveFileName?

  /// The number of the newest event that is in a published file; nil before the first.
  var lastSequence: UInt64? { lastFile?.lastSequence }

  /// The files so far, removed or not.
  var files: Int { lastFile?.file ?? 0 }

  /// Takes the next line, without its line feed.
  mutating func take(_ line: UnsafeRawBufferPointer) throws(ManifestFault) -> ManifestEntry {
    let number = entries + 1
    let read: (entry: ManifestEntry, hash: Digest)
    do throws(Misfit) {
      read = try ManifestEntry.read(line)
      try check(read.entry)
    } catch {
      throw ManifestFault(line: number, error.detail)
    }
    note(read.entry)
    entries = number
    head = read.hash
    return read.entry
  }

  /// What the chain is after one more line, given with its line feed.
  func following(_ line: [UInt8], in path: String) throws(ArchiveError) -> ManifestChain {
    let result = line.withUnsafeBytes { bytes in
      Result { () throws(ManifestFault) in
        var next = self
        _ = try next.take(UnsafeRawBufferPointer(rebasing: bytes.dropLast()))
        return next
      }
    }
    switch result {
    case .success(let next): return next
    case .failure(let fault): throw .manifest(path: path, fault)
    }
  }

  private func check(_ entry: ManifestEntry) throws(Misfit) {
    guard entry.previous == head else {
      throw Misfit(
        entries == 0
          ? "is not the first of its manifest: lines before it were taken out"
          : "doesn't follow the line before: it goes on after a line with the hash \(entry.previous), and that one's is "
            + "\(head); a line was taken out, put in or changed")
    }
    guard entry.number == entries + 1 else { throw Misfit("says that it is line \(entry.number)") }
    if case .begin = entry.content {
      guard entries == 0 else { throw Misfit("begins another manifest") }
      return
    }
    guard begin != nil else { throw Misfit("is not the begin of a manifest") }
    switch entry.content {
    case .begin: break
    case .file(let file):
      guard file.file == files + 1 else { throw Misfit("names file \(file.file), and the next is \(files + 1)") }
      guard lastSequence.map({ file.firstSequence > $0 }) ?? true else {
        throw Misfit("names a file whose events come before those of the last one")
      }
      if let last = lastFile?.name.time, file.name.time < last {
        throw Misfit("names a file whose time is before that of the last one")
      }
    case .removed(let removal):
      guard removal.file == removedFiles + 1, removal.file <= files else {
        throw Misfit("removes file \(removal.file), and the oldest that is left is \(removedFiles + 1)")
      }
    case .erased(let erasure):
      guard erasure.file > removedFiles, erasure.file <= files else {
        throw Misfit("erases lines of file \(erasure.file), which isn't there")
      }
      for range in erasure.lines where erasures[erasure.file]?.overlaps(range) ?? false {
        throw Misfit("erases line \(range.lowerBound) of file \(erasure.file), which was erased before")
      }
    }
  }

  private mutating func note(_ entry: ManifestEntry) {
    (endsInFile, endsInErasure) = (false, false)
    switch entry.content {
    case .begin(let begin): self.begin = begin
    case .file(let file):
      lastFile = file
      endsInFile = true
    case .removed(let removal):
      removedFiles = removal.file
      lastRemoved = removal.name
      erasures[removal.file] = nil
    case .erased(let erasure):
      erasures[erasure.file, default: ErasedLines(erasure)].add(erasure)
      lastErased = erasure.name
      endsInErasure = true
    }
  }
}
