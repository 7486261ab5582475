import CPlatform
import Clocks

/// A file of the journal: its name, its head, and what is known of its content.
///
/// The head has 16 bytes: `ERIDS` and three zeros, the version (4, little-endian), and the CRC-32C of both (4).
struct JournalFile: Sendable, Equatable {
  static let version: UInt32 = 1
  static let headSize = 16

  enum Head: Equatable {
    case known
    case newer(UInt32)
    case damaged
  }

  var number: Int
  /// Whole records, damaged ones included.
  var records = 0
  /// Those of them that tell of stored events.
  var stored = 0
  /// The times that its records span; nil when it has none.
  var oldest, newest: Timestamp?

  init(number: Int) { self.number = number }

  var name: String { Self.name(number) }
  /// Where the next record goes.
  var end: Int { Self.headSize + records * IDRecord.size }

  static func name(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 8 - digits.count)) + digits + ".ids"
  }

  static func number(ofName name: String) -> Int? {
    guard name.hasSuffix(".ids"), let number = Int(name.dropLast(4)), number > 0, self.name(number) == name else {
      return nil
    }
    return number
  }

  mutating func add(_ record: IDRecord) {
    records += 1
    if record.kind == .stored { stored += 1 }
    oldest = min(oldest ?? record.at, record.at)
    newest = max(newest ?? record.at, record.at)
  }

  mutating func add(_ records: [IDRecord]) { for record in records { add(record) } }

  static var head: [UInt8] {
    var bytes = Array("ERIDS\0\0\0".utf8)
    withUnsafeBytes(of: version.littleEndian) { bytes.append(contentsOf: $0) }
    let crc = platform_crc32c(0, bytes, bytes.count)
    withUnsafeBytes(of: crc.littleEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }

  static func head(of bytes: UnsafeRawBufferPointer) -> Head {
    guard bytes.count >= headSize, bytes.prefix(8).elementsEqual("ERIDS\0\0\0".utf8) else { return .damaged }
    func number(_ at: Int) -> UInt32 {
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    }
    guard number(12) == platform_crc32c(0, bytes.baseAddress, 12) else { return .damaged }
    return number(8) <= version ? .known : .newer(number(8))
  }
}
