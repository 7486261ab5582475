import Glibc
import Records

/// Checks everything an archive's directory holds against its manifest, and the manifest against itself.
///
/// Needs nothing but the directory. A relay may go on writing it meanwhile. What a shortened manifest can't tell by itself
/// (that it once was longer, when the files it doesn't name were removed with its end) a head noted elsewhere tells.
/// Memory grows by some 100 bytes with each file, and with nothing else. Blocks in file calls.
public struct ArchiveVerification: Sendable {
  private let reader: ArchiveReader
  private var report: ArchiveReport
  private let noted: Digest?

  /// Checks an archive.
  ///
  /// - Parameters:
  ///   - noted: a head that was noted elsewhere: the archive must have it, or have gone on from it.
  ///   - progress: gets how many of how many compressed bytes have been read.
  /// - Throws: when there is no archive, or a file can't be read.
  public static func verify(
    _ directory: String, noted: Digest? = nil, on system: FileSystem = .system,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws(ArchiveError) -> ArchiveReport {
    let reader: ArchiveReader
    do throws(ArchiveError) {
      reader = try ArchiveReader(directory: directory, on: system)
    } catch {
      guard case .manifest(_, let fault) = error else { throw error }
      var report = ArchiveReport(directory: directory)
      report.add(ArchiveFault(ArchiveFileName.manifest, line: fault.line, fault.detail))
      return report
    }
    var verification = Self(reader: reader, report: ArchiveReport(directory: directory), noted: noted)
    try verification.run(progress)
    return verification.report
  }

  private init(reader: ArchiveReader, report: ArchiveReport, noted: Digest?) {
    self.reader = reader
    self.report = report
    self.noted = noted
  }

  private mutating func run(_ progress: (Int, Int) -> Void) throws(ArchiveError) {
    report.begin = reader.begin
    let directory = try ArchiveReader.open(reader.directory, reader.system)
    // Before the manifest: whatever has a name by now has its line there.
    let listing = try ArchiveError.wrapping { () throws(FileError) in try ArchiveListing(directory) }
    guard let chain = try followManifest(directory) else { return }
    report.extent = try reader.extent(of: chain) { _ in false }
    for name in listing.parts.sorted() where name != chain.lastFile?.name.open {
      report.openFiles.append(name.lines)
    }
    try checkFiles(chain, directory, listing.published.sorted(), progress)
    for name in listing.others.sorted() {
      if name.hasSuffix(ArchiveFileName.partEnding), chain.endsInErasure { continue }
      if name.hasSuffix(ArchiveFileName.linesEnding) || name.hasSuffix(ArchiveFileName.saltsEnding) {
        report.add(ArchiveFault(name, "is no file of this archive: it was added"))
      } else {
        report.notes.append("\(name) is no part of the archive")
      }
    }
  }

  /// - Returns: nil when a line is wrong: what follows it says nothing then.
  private mutating func followManifest(_ directory: ArchiveDirectory) throws(ArchiveError) -> ManifestChain? {
    var chain = ManifestChain()
    var noted = noted.map { NotedHead(hash: $0) }
    let lines = try ArchiveReader.manifest(directory)
    do throws(ArchiveError) {
      while let (hash, _) = try ArchiveReader.next(lines, &chain) {
        if hash == noted?.hash { noted?.entry = chain.entries }
      }
    } catch {
      guard case .manifest(_, let fault) = error else { throw error }
      report.add(ArchiveFault(ArchiveFileName.manifest, line: fault.line, fault.detail))
      (report.entries, report.head) = (chain.entries, chain.head)
      return nil
    }
    (report.entries, report.head) = (chain.entries, chain.head)
    if lines.tornBytes > 0, lines.isBeingWritten {
      report.notes.append("the manifest's next line is being written")
    } else if lines.tornBytes > 0 {
      report.add(
        ArchiveFault(
          ArchiveFileName.manifest, line: chain.entries + 1,
          "is cut off after \(lines.tornBytes) bytes: a crash interrupted its writing (the sink mends that at its start), "
            + "or the manifest was truncated"))
    }
    report.noted = noted
    if let noted, noted.entry == nil {
      report.add(
        ArchiveFault(
          ArchiveFileName.manifest,
          "has no line with the hash \(noted.hash) that was noted: its end was cut off, or it was written anew"))
    }
    return chain
  }

  /// Checks each file that the manifest has, beside the names that were found, which are sorted as the manifest is.
  private mutating func checkFiles(
    _ chain: ManifestChain, _ directory: ArchiveDirectory, _ found: [ArchiveFileName], _ progress: (Int, Int) -> Void
  ) throws(ArchiveError) {
    var rest = found[...]
    var done = 0
    var last: UInt64?
    let total = report.extent.bytes
    let hasher = MerkleHasher()
    let lines = try ArchiveReader.manifest(directory)
    var current = ManifestChain()
    while current.entries < chain.entries, let (_, entry) = try ArchiveReader.next(lines, &current) {
      guard case .file(let file) = entry.content else { continue }
      while let name = rest.first, name < file.name {
        try addUnnamed(name, in: directory)
        rest.removeFirst()
      }
      let isThere = rest.first == file.name
      while rest.first == file.name { rest.removeFirst() }
      guard file.file > chain.removedFiles else {
        if isThere { report.notes.append("\(file.name.lines) was removed by the retention, and is still there") }
        continue
      }
      let contents = chain.erasures[file.file]?.newest.contents ?? file.contents
      if let last, file.firstSequence > last + 1 { report.addGap(last + 1...file.firstSequence - 1) }
      last = file.lastSequence
      let before = done
      try checkFile(file, chain, directory, hasher) { progress(before + $0, total) }
      done += contents.bytes
      progress(done, total)
    }
    for name in rest { try addUnnamed(name, in: directory) }
  }

  private mutating func addUnnamed(_ name: ArchiveFileName, in directory: ArchiveDirectory) throws(ArchiveError) {
    let hasLines = try ArchiveError.wrapping { () throws(FileError) in try directory.has(name.lines) }
    let file = hasLines ? name.lines : name.salts
    // The lines and the salts of one file are one fault.
    guard report.faults.last?.file != file else { return }
    guard let other = archive(of: name, in: directory), other != reader.begin.archive else {
      report.add(ArchiveFault(file, "is not in the manifest: the manifest was cut before it, or the file was added"))
      return
    }
    report.add(ArchiveFault(file, "is from another archive, \(other); this one is \(reader.begin.archive)"))
  }

  /// Which archive a file's salts say they are of; nil when they don't.
  private func archive(of name: ArchiveFileName, in directory: ArchiveDirectory) -> ArchiveID? {
    guard let descriptor = try? directory.open(name.salts, O_RDONLY) else { return nil }
    return try? SaltsReader(descriptor, path: name.salts, on: directory.system).head().archive
  }

  private mutating func checkFile(
    _ file: ManifestFile, _ chain: ManifestChain, _ directory: ArchiveDirectory, _ hasher: MerkleHasher,
    _ progress: (Int) -> Void
  ) throws(ArchiveError) {
    guard let linesName = try name(file.name.lines, file.name.open.lines, file, chain, directory),
      let saltsName = try name(file.name.salts, file.name.open.salts, file, chain, directory)
    else { return }
    let check = FileCheck(
      file, erased: chain.erasures[file.file], begin: reader.begin, in: directory, linesName: linesName,
      saltsName: saltsName, hasher)
    let fault: ArchiveFault?
    do throws(ArchiveError) {
      fault = try check.run(progress)
    } catch {
      if case .file(let missing) = error, missing.code == ENOENT, try isRemoved(file) { return noteRemoved(file) }
      throw error
    }
    if let fault { return report.add(fault) }
    report.checkedFiles += 1
    for gap in check.gaps { report.addGap(gap.gap, erased: gap.erased) }
  }

  /// The name a file has now; nil, and noted, when it has none.
  private mutating func name(
    _ published: String, _ open: String, _ file: ManifestFile, _ chain: ManifestChain, _ directory: ArchiveDirectory
  ) throws(ArchiveError) -> String? {
    func has(_ name: String) throws(ArchiveError) -> Bool {
      try ArchiveError.wrapping { () throws(FileError) in try directory.has(name) }
    }
    if chain.endsInErasure, file.name == chain.lastErased, try has(published + ArchiveFileName.partEnding) {
      report.notes.append("the erasure of lines of \(published) is under way")
      return published + ArchiveFileName.partEnding
    }
    if try has(published) { return published }
    // The newest file is in the manifest before it gets its name.
    if file == chain.lastFile {
      if try has(open) {
        report.notes.append("the publication of \(published) is under way")
        return open
      }
      if try has(published) { return published }
    }
    if try isRemoved(file) {
      noteRemoved(file)
    } else {
      report.add(ArchiveFault(published, "is missing, and the manifest has no line about its removal"))
    }
    return nil
  }

  /// The retention has removed the file since the manifest was read.
  private mutating func noteRemoved(_ file: ManifestFile) {
    report.extent.files -= 1
    report.extent.removedFiles += 1
    report.extent.events -= file.count
  }

  /// Whether the retention has removed a file since.
  private func isRemoved(_ file: ManifestFile) throws(ArchiveError) -> Bool {
    file.file <= (try reader.chain().removedFiles)
  }
}
