import Clocks

/// What stands before each request's events in a segment: see FORMAT.md for every byte.
struct FrameHeader: Equatable {
  static let magic: UInt32 = 0x7246_5245  // "ERFr"
  static let version: UInt16 = 1
  static let size = 72
  /// No frame is longer: what a header says past that is damage.
  static let lengthMax = 4 * 1024 * 1024
  static let appLengthMax = 64
  /// The kind of a frame without events, which only carries the synced offset.
  static let markKind: UInt8 = 0

  var payloadCRC: UInt32 = 0
  /// Which life of the file the frame belongs to.
  var life: UInt64
  var firstSequence: UInt64
  var receivedAt: Timestamp
  /// The offset of this segment up to which all was known to be on stable storage when the frame was staged.
  var syncedOffset: UInt64
  /// Bytes of the frame, header and padding included; a multiple of 8.
  var length: Int
  var eventCount: Int
  var indexLength: Int
  var envelopeLength: Int
  var eventsLength: Int
  var appLength: Int
  var kind: UInt8
  var dialect: UInt8

  var payloadOffset: Int { Self.size + appLength }
  var payloadLength: Int { indexLength + envelopeLength + eventsLength }
  var indexOffset: Int { payloadOffset }
  var eventsOffset: Int { payloadOffset + indexLength + envelopeLength }
  var endSequence: UInt64 { firstSequence + UInt64(eventCount) }
  var isMark: Bool { kind == Self.markKind }

  /// Writes the header before the app's name, which must be in place already, with the checksum over both.
  func write(to start: UnsafeMutableRawPointer) {
    start.put(Self.magic, 0)
    start.put(Self.version, 4)
    start.put(UInt16(Self.size), 6)
    start.put(payloadCRC, 12)
    start.put(life, 16)
    start.put(firstSequence, 24)
    start.put(receivedAt.milliseconds, 32)
    start.put(syncedOffset, 40)
    start.put(UInt32(length), 48)
    start.put(UInt32(eventCount), 52)
    start.put(UInt32(indexLength), 56)
    start.put(UInt32(envelopeLength), 60)
    start.put(UInt32(eventsLength), 64)
    start.put(UInt16(appLength), 68)
    start.put(kind, 70)
    start.put(dialect, 71)
    start.put(Self.checksum(UnsafeRawPointer(start), headerLength: Self.size, appLength: appLength), 8)
  }

  /// Over the header without the checksum itself, and the app's name.
  static func checksum(_ start: UnsafeRawPointer, headerLength: Int, appLength: Int) -> UInt32 {
    crc32c(start + 12, headerLength - 12 + appLength, from: crc32c(start, 8))
  }

  /// What the first bytes of a frame turn out to be.
  enum Reading: Equatable {
    case header(FrameHeader)
    /// Whole, and written by a newer program.
    case newer(version: Int)
    /// Whole, and left over from an earlier life of the file.
    case otherLife
    /// No frame begins here, or its header is damaged.
    case broken(isOfThisLife: Bool)
    /// More bytes are needed to tell.
    case short
  }

  /// Reads a header where `available` bytes follow `start`; `life` nil takes any life.
  static func read(_ start: UnsafeRawPointer, available: Int, life: UInt64?) -> Reading {
    guard available >= size else { return .short }
    guard start.number(0, as: UInt32.self) == magic else { return .broken(isOfThisLife: false) }
    let isOfThisLife = life == nil || start.number(16, as: UInt64.self) == life
    let headerLength = Int(start.number(6, as: UInt16.self))
    let appLength = Int(start.number(68, as: UInt16.self))
    guard headerLength >= size, headerLength <= 4096, appLength <= 4096 else {
      return .broken(isOfThisLife: isOfThisLife)
    }
    guard available >= headerLength + appLength else { return .short }
    guard start.number(8, as: UInt32.self) == checksum(start, headerLength: headerLength, appLength: appLength) else {
      return .broken(isOfThisLife: isOfThisLife)
    }
    guard isOfThisLife else { return .otherLife }
    let version = start.number(4, as: UInt16.self)
    guard version <= Self.version else { return .newer(version: Int(version)) }
    let header = FrameHeader(start)
    return header.isSane ? .header(header) : .broken(isOfThisLife: true)
  }

  private init(_ start: UnsafeRawPointer) {
    payloadCRC = start.number(12)
    life = start.number(16)
    firstSequence = start.number(24)
    receivedAt = Timestamp(milliseconds: start.number(32))
    syncedOffset = start.number(40)
    length = Int(start.number(48, as: UInt32.self))
    eventCount = Int(start.number(52, as: UInt32.self))
    indexLength = Int(start.number(56, as: UInt32.self))
    envelopeLength = Int(start.number(60, as: UInt32.self))
    eventsLength = Int(start.number(64, as: UInt32.self))
    appLength = Int(start.number(68, as: UInt16.self))
    kind = start.number(70)
    dialect = start.number(71)
  }

  /// Whether the lengths agree with each other, and the numbers with what a log may hold.
  private var isSane: Bool {
    length <= Self.lengthMax && appLength <= Self.appLengthMax
      && length == aligned(Self.size + appLength + payloadLength)
      && indexLength == eventCount * EventIndex.encodedSize && eventCount <= DirectoryEntry.eventsMax
      && (isMark ? eventCount == 0 : eventCount > 0) && kind <= EventKind.identify.rawValue
      && Plausible.isSequence(firstSequence) && receivedAt.isPlausible
  }

  /// Whether the events' lengths add up to what the header says, and their members stand in them: for a frame whose checksums
  /// hold, before anybody goes where they say.
  func eventsFit(_ start: UnsafeRawPointer) -> Bool {
    var total = max(0, eventCount - 1)
    var entry = start + indexOffset
    for _ in 0..<eventCount {
      let packed: UInt64 = entry.number(32)
      let mask: UInt64 = 1 << 21 - 1
      let length = packed & mask
      if packed >> 21 & mask > length || packed >> 42 & mask > length { return false }
      total += Int(length)
      entry += EventIndex.encodedSize
    }
    return total == eventsLength
  }

  init(
    life: UInt64, firstSequence: UInt64, receivedAt: Timestamp, syncedOffset: UInt64, eventCount: Int,
    envelopeLength: Int, eventsLength: Int, appLength: Int, kind: UInt8, dialect: UInt8
  ) {
    self.life = life
    self.firstSequence = firstSequence
    self.receivedAt = receivedAt
    self.syncedOffset = syncedOffset
    self.eventCount = eventCount
    self.indexLength = eventCount * EventIndex.encodedSize
    self.envelopeLength = envelopeLength
    self.eventsLength = eventsLength
    self.appLength = appLength
    self.kind = kind
    self.dialect = dialect
    length = aligned(Self.size + appLength + indexLength + envelopeLength + eventsLength)
  }
}
