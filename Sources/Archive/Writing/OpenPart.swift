import Clocks
import Records

/// A file of lines that is being written, and the file of their salts.
///
/// What is appended counts once ``sync()`` has returned. When anything throws, ``cutBack()`` puts both files, and what is
/// known of them, back to the last sync. Not thread-safe. Blocks in file calls.
final class OpenPart {
  let name: ArchiveFileName
  let lines: AppendedFile
  let salts: AppendedFile
  private(set) var totals: PartTotals
  private(set) var synced: PartTotals

  private let hash: SHA256Stream
  private let saltsHash: SHA256Stream
  // As they were at the last sync.
  private let syncedHash = SHA256Stream()
  private let syncedSaltsHash = SHA256Stream()

  private let tools: PartTools
  private var saltsBuffer: [UInt8] = []

  /// Takes over files that hold so much, synced.
  ///
  /// - Parameters:
  ///   - hash: over the bytes of the lines' file, and likewise `saltsHash`.
  init(
    name: ArchiveFileName, lines: AppendedFile, salts: AppendedFile, totals: PartTotals, hash: SHA256Stream,
    saltsHash: SHA256Stream, _ tools: PartTools
  ) {
    self.name = name
    self.lines = lines
    self.salts = salts
    self.totals = totals
    self.hash = hash
    self.saltsHash = saltsHash
    self.tools = tools
    synced = totals
    syncedHash.copy(hash)
    syncedSaltsHash.copy(saltsHash)
    tools.gzip.dropMember()
  }

  /// Compressed bytes so far: those that zlib still holds are not among them.
  var bytes: Int { lines.length + tools.gzip.pendingBytes }

  /// Uncompressed bytes since the last sync.
  var unsyncedBytes: Int { tools.gzip.memberBytes }

  /// Appends lines, one after the other in `bytes`.
  func append(_ bytes: UnsafeRawBufferPointer, _ notes: ArraySlice<ArchiveLine>) throws(FileError) {
    var at = 0
    for note in notes {
      let line = UnsafeRawBufferPointer(rebasing: bytes[at..<at + note.length - 1])
      tools.random.take(SaltsFormat.saltBytes) { salt in
        let leaf = tools.hasher.leaf(salt: salt, line: line)
        totals.add(leaf, sequence: note.sequence, receivedAt: note.receivedAt, tools.hasher)
        saltsBuffer.append(SaltsFormat.Tag.salt.rawValue)
        saltsBuffer.append(contentsOf: salt)
        leaf.withUnsafeBytes { saltsBuffer.append(contentsOf: $0[..<SaltsFormat.checkBytes]) }
      }
      at += note.length
    }
    try tools.gzip.add(bytes, to: lines, hash)
    if saltsBuffer.count >= 64 * 1024 { try writeSalts() }
  }

  /// Ends the gzip member and makes everything durable: a member never goes on behind a sync.
  func sync() throws(FileError) {
    try tools.gzip.endMember(in: lines, hash)
    try writeSalts()
    try salts.sync()
    try lines.sync()
    synced = totals
    syncedHash.copy(hash)
    syncedSaltsHash.copy(saltsHash)
  }

  func cutBack() throws(FileError) {
    tools.gzip.dropMember()
    saltsBuffer.removeAll(keepingCapacity: true)
    totals = synced
    hash.copy(syncedHash)
    saltsHash.copy(syncedSaltsHash)
    try lines.cutBack()
    try salts.cutBack()
  }

  private func writeSalts() throws(FileError) {
    guard !saltsBuffer.isEmpty else { return }
    try salts.append(saltsBuffer)
    saltsBuffer.withUnsafeBytes { saltsHash.add($0) }
    saltsBuffer.removeAll(keepingCapacity: true)
  }

  /// What the manifest is to say of it, once it is synced.
  func entry(file: Int) -> ManifestFile {
    // Ending a hash begins it anew; the copies stay what they are.
    let ended = (SHA256Stream(), SHA256Stream())
    ended.0.copy(syncedHash)
    ended.1.copy(syncedSaltsHash)
    return ManifestFile(
      file: file, name: name.published(last: synced.lastSequence), count: synced.count,
      contents: FileContents(
        bytes: lines.syncedLength, sha256: ended.0.end(), saltsBytes: salts.syncedLength, saltsSHA256: ended.1.end()),
      merkleRoot: synced.tree.root(tools.hasher), receivedFrom: synced.receivedFrom,
      receivedUntil: synced.receivedUntil)
  }
}
