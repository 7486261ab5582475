import Clocks

/// The first 512 bytes of a segment: see FORMAT.md for every byte.
struct SegmentHeader: Equatable {
  static let magic: UInt64 = 0x544E_4D47_4553_5245  // "ERSEGMNT"
  static let version: UInt16 = 1
  /// A sector of its own, so that a torn frame can't take the header along.
  static let size = 512

  /// Which life of the file this is: drawn at random, so that no stale frame and no sender's bytes can pass for ours.
  var life: UInt64
  var number: UInt64
  /// The number of the segment's first event.
  var firstSequence: UInt64
  /// The number after the last event of the segment before; less than `firstSequence` when numbers were skipped.
  var previousEnd: UInt64
  /// Events taken in before this segment, since the data directory was made.
  var acceptedBefore: UInt64
  var createdAt: Timestamp
  /// Only what was still owed was taken over from an earlier copy: numbers that are missing were settled, not lost.
  var isRewritten = false
  /// Its events are sent again: each frame's envelope begins with the numbers they first had, 8 bytes each.
  var holdsReplays = false

  func write(to start: UnsafeMutableRawPointer) {
    start.initializeMemory(as: UInt8.self, repeating: 0, count: Self.size)
    start.put(Self.magic, 0)
    start.put(Self.version, 8)
    start.put(UInt16(Self.size), 10)
    start.put(life, 16)
    start.put(number, 24)
    start.put(firstSequence, 32)
    start.put(previousEnd, 40)
    start.put(acceptedBefore, 48)
    start.put(createdAt.milliseconds, 56)
    start.put(UInt16((isRewritten ? 1 : 0) | (holdsReplays ? 2 : 0)), 64)
    start.put(Self.checksum(UnsafeRawPointer(start)), 12)
  }

  private static func checksum(_ start: UnsafeRawPointer) -> UInt32 {
    crc32c(start + 16, size - 16, from: crc32c(start, 12))
  }

  enum Reading: Equatable {
    case header(SegmentHeader)
    case newer(version: Int)
    case broken
  }

  static func read(_ start: UnsafeRawPointer, available: Int) -> Reading {
    guard available >= size, start.number(0, as: UInt64.self) == magic,
      start.number(12, as: UInt32.self) == checksum(start)
    else { return .broken }
    let version = start.number(8, as: UInt16.self)
    guard version <= Self.version else { return .newer(version: Int(version)) }
    let header = SegmentHeader(
      life: start.number(16), number: start.number(24), firstSequence: start.number(32),
      previousEnd: start.number(40), acceptedBefore: start.number(48),
      createdAt: Timestamp(milliseconds: start.number(56)), isRewritten: start.number(64, as: UInt16.self) & 1 != 0,
      holdsReplays: start.number(64, as: UInt16.self) & 2 != 0)
    return header.isPlausible ? .header(header) : .broken
  }

  private var isPlausible: Bool {
    [number, firstSequence, previousEnd, acceptedBefore].allSatisfy(Plausible.isSequence) && createdAt.isPlausible
  }
}

/// How the log's files are called.
enum SegmentName {
  static func segment(_ number: UInt64) -> String { "segment-\(padded(number)).log" }
  static func spare(_ number: UInt64) -> String { "spare-\(padded(number)).log" }
  static func filling(_ number: UInt64) -> String { "filling-\(padded(number)).tmp" }
  static func torn(_ number: UInt64, offset: Int) -> String { "torn-\(padded(number))-\(offset).bin" }

  /// A segment of which nothing could be told.
  static func aside(_ number: UInt64) -> String { "damaged-\(number).bin" }

  /// Left behind when a sync failed, for a start without a reboot: see ``LogOpening``.
  static let failureSign = "sync-failed"

  static func number(ofSegment name: String) -> UInt64? { number(name, "segment-", ".log") }
  static func number(ofSpare name: String) -> UInt64? { number(name, "spare-", ".log") }
  static func number(ofFilling name: String) -> UInt64? { number(name, "filling-", ".tmp") }
  static func number(ofAside name: String) -> UInt64? { number(name, "damaged-", ".bin") }
  static func isTorn(_ name: String) -> Bool { name.hasPrefix("torn-") }

  private static func padded(_ number: UInt64) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 12 - text.utf8.count)) + text
  }

  private static func number(_ name: String, _ prefix: String, _ suffix: String) -> UInt64? {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
    return UInt64(name.dropFirst(prefix.count).dropLast(suffix.count))
  }
}
