import Glibc
import JSON
import Records

/// Checks one published file and its salts against what the manifest says of them.
///
/// Goes over both files once, and once more only to tell which of them is wrong. Blocks in file calls.
final class FileCheck {
  private let file: ManifestFile
  private let erased: ErasedLines?
  private let begin: ManifestBegin
  private let directory: ArchiveDirectory
  private let hasher: MerkleHasher
  private let linesName, saltsName: String

  private var tree = MerkleTree()
  private(set) var gaps: [(gap: ClosedRange<UInt64>, erased: UInt64)] = []
  private var lastSequence: UInt64?
  private var erasedSinceLast: UInt64 = 0
  /// The relay that a wrong line says it is of, when that is another.
  private var isOfOtherRelay = false

  /// - Parameters:
  ///   - linesName: the name under which the lines are, and likewise `saltsName`.
  init(
    _ file: ManifestFile, erased: ErasedLines?, begin: ManifestBegin, in directory: ArchiveDirectory,
    linesName: String, saltsName: String, _ hasher: MerkleHasher
  ) {
    self.file = file
    self.erased = erased
    self.begin = begin
    self.directory = directory
    self.linesName = linesName
    self.saltsName = saltsName
    self.hasher = hasher
  }

  private var expected: FileContents { erased?.newest.contents ?? file.contents }

  /// - Parameter progress: gets how many compressed bytes have been read so far.
  /// - Returns: what is wrong; nil when nothing is.
  /// - Throws: when a file can't be read.
  func run(_ progress: (Int) -> Void) throws(ArchiveError) -> ArchiveFault? {
    do throws(ArchiveError) {
      let (lines, salts) = (try open(linesName), try open(saltsName))
      return try compare(
        GzipLines(lines, path: linesName, on: directory.system),
        SaltsReader(salts, path: saltsName, on: directory.system), progress)
    } catch {
      guard case .damaged(let name, let detail) = error else { throw error }
      return try blame(ArchiveFault(name, line: name == linesName ? tree.count + 1 : nil, detail))
    }
  }

  private func open(_ name: String) throws(ArchiveError) -> Int32 {
    try ArchiveError.wrapping { () throws(FileError) in try directory.open(name, O_RDONLY) }
  }

  private func compare(
    _ lines: GzipLines, _ salts: SaltsReader, _ progress: (Int) -> Void
  ) throws(ArchiveError) -> ArchiveFault? {
    if let fault = check(try salts.head()) { return fault }
    if let fault = try follow(lines, salts, progress) { return try blame(fault) }
    if try salts.next() != nil {
      return try blame(ArchiveFault(linesName, "has \(tree.count) lines, and there are salts of more"))
    }
    return try compare(lines, salts)
  }

  private func check(_ head: SaltsFormat.Head) -> ArchiveFault? {
    if head.archive != begin.archive {
      return ArchiveFault(saltsName, "is from another archive, \(head.archive); this one is \(begin.archive)")
    }
    if head.first != file.firstSequence {
      return ArchiveFault(
        saltsName, "belongs to the file that begins with event \(head.first): another file is in its place")
    }
    return nil
  }

  /// Goes over the lines and their salts, to the first that isn't right.
  private func follow(
    _ lines: GzipLines, _ salts: SaltsReader, _ progress: (Int) -> Void
  ) throws(ArchiveError) -> ArchiveFault? {
    while true {
      switch try lines.next() {
      case .end:
        progress(lines.bytes)
        return nil
      case .memberEnd: progress(lines.bytes)
      case .line(let line):
        let number = tree.count + 1
        guard let record = try salts.next() else {
          return ArchiveFault(
            linesName, line: number, "is one too many: \(file.count) lines were archived, and there is no salt for it")
        }
        if let fault = check(line, number, record) { return fault }
        if number & 0xFFF == 0 { progress(lines.bytes) }
      }
    }
  }

  private func check(_ line: UnsafeRawBufferPointer, _ number: Int, _ record: SaltsReader.Record) -> ArchiveFault? {
    switch record {
    case .erased(let leaf):
      guard erased?.contains(number) ?? false else {
        return ArchiveFault(saltsName, "says that line \(number) was erased, and the manifest doesn't")
      }
      guard line.isEmpty else { return ArchiveFault(linesName, line: number, "is there, and was erased") }
      erasedSinceLast += 1
      tree.add(leaf, hasher)
      return nil
    case .salt(let salt, check: let start):
      if erased?.contains(number) ?? false {
        return ArchiveFault(saltsName, "still has the salt of line \(number), which was erased")
      }
      let leaf = hasher.leaf(salt: salt, line: line)
      guard leaf.withUnsafeBytes({ $0.starts(with: start) }) else {
        var relay: [UInt8] = []
        JSONText.appendString(begin.relay, to: &relay)
        isOfOtherRelay = LineHead.sequence(of: line) != nil && !LineHead.isOf(relay: relay, line)
        return ArchiveFault(linesName, line: number, "is not the line that was archived" + found(line))
      }
      tree.add(leaf, hasher)
      return checkHead(of: line, number)
    }
  }

  /// What stands there instead, in words.
  private func found(_ line: UnsafeRawBufferPointer) -> String {
    guard !line.isEmpty else { return ": it is empty" }
    guard let sequence = LineHead.sequence(of: line) else { return ": it is no record" }
    if let lastSequence, sequence > lastSequence + 1, erasedSinceLast == 0 {
      return ": event \(sequence) follows event \(lastSequence) there, so that lines may have been taken out"
    }
    return ": event \(sequence) is there, changed or in another's place"
  }

  /// What the line says of itself must fit what the manifest says of the file.
  private func checkHead(of line: UnsafeRawBufferPointer, _ number: Int) -> ArchiveFault? {
    guard let sequence = LineHead.sequence(of: line), let receivedAt = LineHead.receivedMoment(of: line) else {
      return ArchiveFault(linesName, line: number, "is no record")
    }
    guard receivedAt >= file.receivedFrom, receivedAt <= file.receivedUntil else {
      return ArchiveFault(
        ArchiveFileName.manifest, "says that \(linesName) has no events of \(receivedAt), as its line \(number) is")
    }
    let isInFile = sequence >= file.firstSequence && sequence <= file.lastSequence
    guard isInFile, lastSequence.map({ sequence > $0 }) ?? true else {
      return ArchiveFault(linesName, line: number, "has event \(sequence), which doesn't belong there")
    }
    note(gapUpTo: sequence)
    lastSequence = sequence
    erasedSinceLast = 0
    return nil
  }

  private func note(gapUpTo sequence: UInt64) {
    let next = lastSequence.map { $0 + 1 } ?? file.firstSequence
    // (Erased lines hide which numbers they had, not how many.)
    guard sequence > next, sequence - next > erasedSinceLast else { return }
    gaps.append((next...sequence - 1, erasedSinceLast))
  }

  /// Compares what the files come to with the manifest.
  private func compare(_ lines: GzipLines, _ salts: SaltsReader) throws(ArchiveError) -> ArchiveFault? {
    guard tree.count == file.count else {
      return ArchiveFault(linesName, "has \(tree.count) lines, and \(file.count) were archived")
    }
    if let erased, file.count - erased.count != erased.newest.count || erased.newest.merkleRoot != file.merkleRoot {
      return ArchiveFault(
        ArchiveFileName.manifest, "says of \(linesName) that lines were erased, and what is left of it doesn't add up")
    }
    guard tree.root(hasher) == file.merkleRoot else {
      return try blame(ArchiveFault(linesName, "has lines and salts with another Merkle root than was archived"))
    }
    let hash = lines.hash.end()
    guard hash == expected.sha256, lines.bytes == expected.bytes else {
      return ArchiveFault(
        linesName,
        "has the lines that were archived, but other bytes (it was compressed anew): its SHA-256 is \(hash), "
          + "and the manifest says \(expected.sha256)")
    }
    let saltsHash = salts.hash.end()
    guard saltsHash == expected.saltsSHA256, salts.bytes == expected.saltsBytes else {
      return ArchiveFault(
        saltsName, "was changed: its SHA-256 is \(saltsHash), and the manifest says \(expected.saltsSHA256)")
    }
    if let last = lastSequence, last < file.lastSequence, file.lastSequence - last > erasedSinceLast {
      gaps.append((last + 1...file.lastSequence, erasedSinceLast))
    }
    return nil
  }

  /// A line and its salt don't fit: tells which file was changed, by the files' hashes.
  private func blame(_ fault: ArchiveFault) throws(ArchiveError) -> ArchiveFault {
    let (lines, salts) = (try digest(linesName), try digest(saltsName))
    var fault = fault
    if lines == expected.sha256, salts != expected.saltsSHA256 {
      let place = fault.line.map { ", first at the salt of line \($0)" } ?? ""
      return ArchiveFault(
        saltsName, "was changed\(place): its SHA-256 is \(salts), and the manifest says \(expected.saltsSHA256)")
    }
    guard lines != expected.sha256 else { return fault }
    if let name = try otherFile(with: lines) {
      fault.detail += "; the file's bytes are those of \(name) of this archive: another file is in its place"
    } else if isOfOtherRelay {
      fault.detail += "; the line is of another relay: the file is from another archive"
    }
    return fault
  }

  private func otherFile(with hash: Digest) throws(ArchiveError) -> String? {
    var found: String?
    try ArchiveReader.forEachEntry(try ArchiveReader.manifest(directory)) { _, entry in
      if case .file(let file) = entry.content, file.contents.sha256 == hash { found = file.name.lines }
      return found == nil
    }
    return found
  }

  private func digest(_ name: String) throws(ArchiveError) -> Digest {
    try ArchiveError.wrapping { () throws(FileError) in
      let descriptor = try directory.open(name, O_RDONLY)
      defer { close(descriptor) }
      let hash = SHA256Stream()
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
      defer { buffer.deallocate() }
      while true {
        let count = try directory.system.call(.read, directory.path(of: name)) {
          read(descriptor, buffer.baseAddress, buffer.count)
        }
        guard count > 0 else { return hash.end() }
        hash.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
    }
  }
}
