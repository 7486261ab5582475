import Glibc
import Records

/// Makes the files of an open part, and finds them again.
struct PartOpening {
  let directory: ArchiveDirectory
  let archive: ArchiveID
  let tools: PartTools

  /// Makes an empty part, durable under its name.
  func create(_ name: ArchiveFileName) throws(FileError) -> OpenPart {
    // An earlier try may have left these, with nothing in them that counts: whatever did was found, or put aside.
    let salts = try file(name.salts, O_RDWR | O_APPEND | O_CREAT | O_TRUNC, .create, length: 0)
    let lines = try file(name.lines, O_RDWR | O_APPEND | O_CREAT | O_TRUNC, .create, length: 0)
    let head = SaltsFormat.head(archive: archive, first: name.first)
    try salts.append(head)
    try salts.sync()
    try directory.sync()
    let saltsHash = SHA256Stream()
    head.withUnsafeBytes { saltsHash.add($0) }
    return OpenPart(
      name: name, lines: lines, salts: salts, totals: PartTotals(), hash: SHA256Stream(), saltsHash: saltsHash, tools)
  }

  /// Opens a part's files, cut back to what was found whole.
  ///
  /// - Returns: the part, and how many bytes of lines were cut off.
  func continued(_ name: ArchiveFileName, _ scan: PartScan) throws(FileError) -> (part: OpenPart, cut: Int) {
    let lines = try file(name.lines, O_RDWR | O_APPEND, .open, length: scan.linesBytes)
    let salts = try file(name.salts, O_RDWR | O_APPEND, .open, length: scan.saltsBytes)
    let cut = try lines.facts().length - scan.linesBytes
    // This syncs, too, what a process that was killed had written and not synced.
    try lines.cutBack()
    try salts.cutBack()
    let part = OpenPart(
      name: name, lines: lines, salts: salts, totals: scan.totals, hash: scan.hash, saltsHash: scan.saltsHash, tools)
    return (part, cut)
  }

  private func file(
    _ name: String, _ flags: Int32, _ operation: FileError.Operation, length: Int
  ) throws(FileError) -> AppendedFile {
    AppendedFile(
      try directory.open(name, flags, operation), path: directory.path(of: name), length: length, on: directory.system)
  }
}
