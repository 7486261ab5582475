import Clocks
import EventLog
import HTTPClient

/// Puts a web batch's body together again, of events as they lie in the log.
///
/// All events of a batch: the body that came, byte by byte. Only some of them (the upstream took no more at once, or the
/// others are delivered or suppressed): the same body with those alone, and with a `batchId` of its own, since an upstream may
/// take a batch by its id for one that it has. An event without anything around it, as from an archive, gets a body of its own.
/// Ids are made of the first event's and the number of events, so that they are the same whenever the same is sent again.
struct WebBody {
  private let batch: EventBatch
  private let envelope: WebEnvelope?
  /// The batch's first events that came in one request: no other can go with them.
  let count: Int

  /// - Parameter batch: begins with an event of a web batch.
  init(_ batch: EventBatch) {
    self.batch = batch
    let around = batch.envelope(of: batch.events[0])
    envelope = WebEnvelope(around)
    guard envelope != nil else {
      count = 1
      return
    }
    count =
      batch.events.prefix {
        $0.index.flags.contains(.otherForm) && Self.isSame(batch.envelope(of: $0), around)
      }.count
  }

  private static func isSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    one.count == other.count && (one.baseAddress == other.baseAddress || one.elementsEqual(other))
  }

  /// Fills the body with so many of the events as may be; a single one, however large.
  ///
  /// - Returns: how many.
  func fill(_ body: RequestBody, bytesMax: Int) -> Int {
    guard let envelope else {
      fillAlone(body)
      return 1
    }
    let whole = batch.events[..<count].reduce(envelope.count + count - 1) { $0 + $1.index.length }
    if count == envelope.events, whole <= bytesMax || count == 1 {
      put(envelope.head[...], body)
      putEvents(count, body)
      put(envelope.tail[...], body)
      return count
    }
    var bytes = envelope.count + (envelope.batchID.map { Self.batchIDBytes - $0.count } ?? 0)
    var filled = 0
    for event in batch.events[..<count] {
      bytes += event.index.length + (filled > 0 ? 1 : 0)
      if filled > 0, bytes > bytesMax { break }
      filled += 1
    }
    let id = batchID(filled)
    put(envelope.head, at: 0, envelope.batchID, id, body)
    putEvents(filled, body)
    put(envelope.tail, at: envelope.head.count, envelope.batchID, id, body)
    return filled
  }

  private func fillAlone(_ body: RequestBody) {
    put(#"{"events":["#, body)
    putEvents(1, body)
    put(#"],"batchId":"#, body)
    body.append(batchID(1))
    put(#","timestamp":""#, body)
    body.append(batch.events[0].receivedAt.utf8)
    put(#""}"#, body)
  }

  private func putEvents(_ count: Int, _ body: RequestBody) {
    for (at, event) in batch.events[..<count].enumerated() {
      if at > 0 { body.append(UInt8(ascii: ",")) }
      body.append(batch.bytes(of: event))
    }
  }

  /// Appends a part of an envelope, another id in the place of its own.
  private func put(
    _ part: UnsafeRawBufferPointer, at begin: Int, _ place: Range<Int>?, _ id: [UInt8], _ body: RequestBody
  ) {
    guard let place, place.lowerBound >= begin, place.upperBound <= begin + part.count else {
      return put(part[...], body)
    }
    put(part[..<(place.lowerBound - begin)], body)
    body.append(id)
    put(part[(place.upperBound - begin)...], body)
  }

  private func put(_ part: Slice<UnsafeRawBufferPointer>, _ body: RequestBody) {
    body.append(UnsafeRawBufferPointer(rebasing: part))
  }

  private func put(_ text: StaticString, _ body: RequestBody) {
    body.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  // MARK: Ids

  /// Bytes of an id with its quotes.
  private static let batchIDBytes = 38

  /// A UUID of version 8 (made by a scheme of one's own) with its quotes.
  private func batchID(_ events: Int) -> [UInt8] {
    let first = batch.events[0].index
    let high = first.idHigh & ~0xF000 | 0x8000
    let low = (first.idLow &+ UInt64(events - 1)) & ~(0b11 << 62) | 0b10 << 62
    let digits = Array("0123456789abcdef".utf8)
    var text = [UInt8(ascii: "\"")]
    for digit in 0..<32 {
      if [8, 12, 16, 20].contains(digit) { text.append(UInt8(ascii: "-")) }
      let half = digit < 16 ? high : low
      text.append(digits[Int(half >> UInt64(60 - digit % 16 * 4) & 15)])
    }
    return text + [UInt8(ascii: "\"")]
  }
}
