/// The bytes of a salts file: a head, and a record for each line of the file beside it.
///
/// See the page Archive of the documentation.
enum SaltsFormat {
  static let magic = Array("ERSALTS\n".utf8)
  static let version: UInt16 = 1
  static let headBytes = 40
  static let saltBytes = 16
  /// The first bytes of the leaf's hash, kept with its salt so that a line that was changed can be named.
  static let checkBytes = 4
  /// Bytes of a record with a salt, its tag included.
  static let saltRecordBytes = 1 + saltBytes + checkBytes
  /// Bytes of a record of an erased line, its tag included.
  static let erasedRecordBytes = 1 + Digest.byteCount

  enum Tag: UInt8 { case salt = 1, erased = 2 }

  /// The archive's id and the number of the file's first event tell files apart that were swapped.
  static func head(archive: ArchiveID, first: UInt64) -> [UInt8] {
    var out = magic
    out += withUnsafeBytes(of: version.littleEndian) { Array($0) }
    out += withUnsafeBytes(of: UInt16(headBytes).littleEndian) { Array($0) }
    out += [0, 0, 0, 0]
    out += archive.bytes
    out += withUnsafeBytes(of: first.littleEndian) { Array($0) }
    return out
  }

  struct Head: Equatable {
    var archive: ArchiveID
    var first: UInt64
  }

  /// - Throws: what is wrong, as the end of a sentence that begins with the file's name.
  static func readHead(_ bytes: UnsafeRawBufferPointer) throws(Misfit) -> Head {
    guard bytes.count >= headBytes else { throw Misfit("is cut off within its head") }
    guard bytes.starts(with: magic) else { throw Misfit("doesn't begin as a salts file does") }
    let found = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
    guard found == version else {
      throw Misfit("has version \(found), and this program reads version \(version)")
    }
    let length = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self))
    guard length == UInt16(headBytes), bytes[12..<16].allSatisfy({ $0 == 0 }),
      let archive = ArchiveID(bytes: Array(bytes[16..<32]))
    else { throw Misfit("has a head that isn't one") }
    return Head(
      archive: archive, first: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)))
  }
}
