import Clocks
import Testing

@testable import EventLog

@Suite("The log's format")
struct FormatTests {
  private func hexText(_ bytes: some Sequence<UInt8>) -> String { bytes.map { hex(UInt64($0), digits: 2) }.joined() }

  @Test("has frames of exactly these bytes")
  func frame() throws {
    var bytes: [UInt8] = []
    Drafts.with(app: "ios", at: 1_800_000_000_123, serials: 7..<9, size: 24, envelope: Array("{}".utf8)) { draft in
      let shape = FrameShape(draft)!
      bytes = [UInt8](repeating: 0xEE, count: shape.length)
      bytes.withUnsafeMutableBytes {
        shape.write(draft, first: 41, life: 0x1122_3344_5566_7788, syncedOffset: 512, to: $0.baseAddress!)
      }
    }
    let event7 = "0000000000000007fffffffffffffff80000000000000000000000000000000018002000000800" + "0000"
    #expect(hexText(bytes[0..<8]) == "4552467201004800")
    #expect(hexText(bytes[16..<32]) == "88776655443322112900000000000000")
    #expect(hexText(bytes[32..<48]) == hexText(timeBytes) + "0002000000000000")
    #expect(bytes.count % 8 == 0)
    #expect(String(decoding: bytes[72..<75], as: UTF8.self) == "ios")
    #expect(hexText(bytes[75..<91]) == String(event7.prefix(32)))
    #expect(String(decoding: bytes[171..<173], as: UTF8.self) == "{}")
    let first = Drafts.event(7, size: 24)
    let second = Drafts.event(8, size: 24)
    #expect(Array(bytes[173..<173 + first.count]) == first)
    #expect(bytes[173 + first.count] == UInt8(ascii: ","))
    #expect(Array(bytes[174 + first.count..<174 + first.count + second.count]) == second)
    #expect(bytes[(174 + first.count + second.count)...].allSatisfy { $0 == 0 })
    bytes.withUnsafeBytes { bytes in
      guard case .header(let header) = FrameHeader.read(bytes.baseAddress!, available: bytes.count, life: nil) else {
        Issue.record("not read")
        return
      }
      #expect(header.eventCount == 2 && header.indexLength == 96 && header.envelopeLength == 2)
      #expect(header.payloadCRC == crc32c(bytes.baseAddress! + 75, header.payloadLength))
    }
  }

  private var timeBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: 1_800_000_000_123 >> ($0 * 8)) } }

  @Test("keeps its golden bytes: a change here is a new version")
  func golden() {
    var header = [UInt8](repeating: 0, count: SegmentHeader.size)
    header.withUnsafeMutableBytes {
      SegmentHeader(
        life: 1, number: 2, firstSequence: 3, previousEnd: 4, acceptedBefore: 5,
        createdAt: Timestamp(milliseconds: 6)
      ).write(to: $0.baseAddress!)
    }
    #expect(hexText(header[0..<12]) == "45525345474d4e5401000002")
    #expect(
      hexText(header[16..<64])
        == "010000000000000002000000000000000300000000000000040000000000000005000000000000000600000000000000")
    var trailer = [UInt8](repeating: 0, count: 64)
    trailer.withUnsafeMutableBytes {
      SegmentFooter.Trailer(life: 1, footerOffset: 2, footerLength: 300).write(to: $0.baseAddress!)
    }
    #expect(hexText(trailer[0..<12]) == "45525345414c454401004000")
    #expect(hexText(trailer[16..<40]) == "010000000000000002000000000000002c01000000000000")
    var entry = [UInt8](repeating: 0, count: 20)
    entry.withUnsafeMutableBytes {
      DirectoryEntry(offset: 512, length: 80, sequenceDelta: 3, receivedDelta: -1, events: 5, flags: .damaged)
        .write(to: $0.baseAddress!)
    }
    #expect(hexText(entry) == "400000000a00000003000000ffffffff05000100")
    let crc = [UInt8]("123456789".utf8).withUnsafeBytes { crc32c($0) }
    #expect(crc == 0xE306_9283)
  }

  @Test("packs an event's index into 48 bytes and takes all of it out again")
  func index() {
    let extremes = [
      EventIndex(
        idHigh: 0x0123_4567_89AB_CDEF, idLow: .max, installHash: 1, userHash: .max, length: EventIndex.lengthMax,
        nameOffset: EventIndex.lengthMax, occurredAtOffset: EventIndex.lengthMax,
        occurredAt: Timestamp(milliseconds: 1 << 47 - 1), flags: [.clamped, .lineBreaks, .hasUser, .unjudged]),
      EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: 1, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: Timestamp(milliseconds: -1 << 47), flags: []),
      EventIndex(
        idHigh: 1, idLow: 2, installHash: 3, userHash: 4, length: 5, nameOffset: 6, occurredAtOffset: 7,
        occurredAt: Timestamp(milliseconds: -1), flags: .clamped),
    ]
    for index in extremes {
      var bytes = [UInt8](repeating: 0xAA, count: 48)
      bytes.withUnsafeMutableBytes { index.write(to: $0.baseAddress!) }
      #expect(bytes.withUnsafeBytes { EventIndex($0.baseAddress!) } == index)
      #expect(bytes.withUnsafeBytes { EventIndex.occurredAt($0.baseAddress!) } == index.occurredAt)
      #expect(index.isEncodable)
    }
    // The year 9999 and times before it that no entry can hold.
    let far: [(Int64, Int64)] = [(253_402_300_799_999, 1 << 47 - 1), (.max, 1 << 47 - 1), (.min, -1 << 47)]
    for (milliseconds, held) in far {
      let index = EventIndex(
        idHigh: 1, idLow: 2, installHash: 3, userHash: 4, length: 5, nameOffset: 6, occurredAtOffset: 7,
        occurredAt: Timestamp(milliseconds: milliseconds), flags: .clamped)
      #expect(index.isEncodable && index.occurredAt == Timestamp(milliseconds: held))
    }
    var bytes = [UInt8](repeating: 0, count: 48)
    bytes.withUnsafeMutableBytes { extremes[0].write(to: $0.baseAddress!) }
    #expect(hexText(bytes[0..<8]) == "0123456789abcdef")
  }

  @Test("tells damage from a newer version, and that only when the checksum holds")
  func versions() {
    var header = FrameHeader(
      life: 9, firstSequence: 1, receivedAt: Timestamp(milliseconds: 0), syncedOffset: 0, eventCount: 0,
      envelopeLength: 0, eventsLength: 0, appLength: 0, kind: FrameHeader.markKind, dialect: 0)
    header.length = 72
    var bytes = [UInt8](repeating: 0, count: 72)
    bytes.withUnsafeMutableBytes { header.write(to: $0.baseAddress!) }
    func read(_ life: UInt64?) -> FrameHeader.Reading {
      bytes.withUnsafeBytes { FrameHeader.read($0.baseAddress!, available: $0.count, life: life) }
    }
    #expect(read(9) == .header(header))
    #expect(read(8) == .otherLife)
    bytes[4] = 2
    #expect(read(9) == .broken(isOfThisLife: true))
    bytes.withUnsafeMutableBytes {
      $0.baseAddress!.put(FrameHeader.checksum($0.baseAddress!, headerLength: 72, appLength: 0), 8)
    }
    #expect(read(9) == .newer(version: 2))
    bytes[0] = 0
    #expect(read(9) == .broken(isOfThisLife: false))
  }

  @Test("keeps a record of positions through text and back, and finds any byte of it that changed")
  func positions() throws {
    var record = PositionRecord(destination: "upstream", mode: .apps, through: 900)
    record.lanes = [
      "ios": LaneMarks(low: 3, above: IntervalSet([5...6, 9...1 << 62])!), "a\"\n": LaneMarks(low: 0),
    ]
    record.settled = Tally([.delivered: 7, .tooLarge: 1, .droppedLogFull: 1 << 61])
    record.acceptedBase = -5
    record.logAccepted = 12
    record.countersSince = Timestamp(milliseconds: 77)
    record.attachment = ["files": [1, "x", .null]]
    let bytes = record.encoded
    guard case .record(let read) = PositionRecord.read(bytes, destination: "upstream") else {
      Issue.record("not read")
      return
    }
    #expect(read == record)
    for at in bytes.indices {
      var changed = bytes
      changed[at] ^= 0x01
      if case .record(let read) = PositionRecord.read(changed, destination: "upstream"), read != record {
        Issue.record("a changed byte \(at) went unnoticed")
      }
    }
    let newer = Array(String(decoding: bytes, as: UTF8.self).replacing("\"version\":1", with: "\"version\":4").utf8)
    guard case .newer(version: 4) = PositionRecord.read(newer, destination: "upstream") else {
      Issue.record("a newer record must be told from a damaged one")
      return
    }
  }
}
