import Glibc
import Records

/// Finds how much of a file that wasn't published is whole: gzip members that end, of lines whose salts are there.
///
/// A part needs nothing but itself to be continued: what a crash left half done is behind the last whole member.
final class PartScan {
  /// Bytes of the two files that are whole.
  private(set) var linesBytes = 0
  private(set) var saltsBytes = 0
  private(set) var totals = PartTotals()
  /// Over those bytes.
  let hash = SHA256Stream()
  let saltsHash = SHA256Stream()
  /// What ended the scan before the files' ends; nil when nothing did.
  private(set) var misfit: String?

  private let name: ArchiveFileName
  private let archive: ArchiveID
  private let lines: GzipLines
  private let salts: SaltsReader
  private let hasher: MerkleHasher
  private var current = PartTotals()

  init(
    _ name: ArchiveFileName, of archive: ArchiveID, in directory: ArchiveDirectory, _ hasher: MerkleHasher
  ) throws(FileError) {
    self.name = name
    self.archive = archive
    self.hasher = hasher
    let system = directory.system
    lines = GzipLines(try directory.open(name.lines, O_RDONLY), path: directory.path(of: name.lines), on: system)
    salts = SaltsReader(try directory.open(name.salts, O_RDONLY), path: directory.path(of: name.salts), on: system)
  }

  /// - Throws: when a file can't be read, which says nothing about what is in it.
  func run() throws(FileError) {
    do throws(ArchiveError) {
      let head = try salts.head()
      guard head == SaltsFormat.Head(archive: archive, first: name.first) else {
        misfit = "\(salts.path) is of another file"
        return
      }
      keep()
      while try step() {}
    } catch {
      if case .file(let error) = error { throw error }
      misfit = error.description
    }
  }

  /// - Returns: false at the end of what is whole.
  private func step() throws(ArchiveError) -> Bool {
    switch try lines.next() {
    case .end: return false
    case .memberEnd: keep()
    case .line(let line):
      guard case .salt(let salt, let check)? = try salts.next() else {
        misfit = "\(salts.path) has fewer salts than there are lines"
        return false
      }
      let leaf = hasher.leaf(salt: salt, line: line)
      let isTheLine = leaf.withUnsafeBytes { $0.starts(with: check) }
      guard isTheLine, let sequence = LineHead.sequence(of: line), let receivedAt = LineHead.receivedMoment(of: line),
        current.count == 0 ? sequence == name.first : sequence > current.lastSequence
      else {
        misfit = "\(lines.path) has another line \(current.count + 1) than was written"
        return false
      }
      current.add(leaf, sequence: sequence, receivedAt: receivedAt, hasher)
    }
    return true
  }

  private func keep() {
    linesBytes = lines.bytes
    saltsBytes = salts.bytes
    totals = current
    hash.copy(lines.hash)
    saltsHash.copy(salts.hash)
  }
}
