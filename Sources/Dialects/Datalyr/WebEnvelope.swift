import EventLog

/// What came around the events of a web batch, so that its body goes upstream as it came.
///
/// In the log, all numbers in little-endian order:
///
/// | bytes | what |
/// |---|---|
/// | 0…3 | bytes of the head |
/// | 4…7 | events that the batch had |
/// | 8…11 | where the value of `batchId` begins, in head and tail together; 0: it has none |
/// | 12…15 | bytes of that value |
/// | 16… | the head: the body's bytes up to the first event |
/// | then | the tail: those behind the last one |
///
/// Head, events with a comma between them, tail: that is the body, but for blanks around those commas.
struct WebEnvelope {
  static let frontBytes = 16
  /// What is looked for in a body's own object.
  static let names = "batchId timestamp events"

  let head: UnsafeRawBufferPointer
  let tail: UnsafeRawBufferPointer
  let events: Int
  /// In head and tail together.
  let batchID: Range<Int>?

  /// Reads what stands around an event in the log; nil when that is nothing, or nothing that this program wrote.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > Self.frontBytes else { return nil }
    func number(_ place: Int) -> Int {
      Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }
    let around = UnsafeRawBufferPointer(rebasing: bytes[Self.frontBytes...])
    let headBytes = number(0)
    let id = number(8)..<number(8) + number(12)
    guard headBytes > 0, headBytes < around.count, id.upperBound <= around.count else { return nil }
    // (A value is in one of them, whole.)
    guard id.upperBound <= headBytes || id.lowerBound >= headBytes else { return nil }
    head = UnsafeRawBufferPointer(rebasing: around[..<headBytes])
    tail = UnsafeRawBufferPointer(rebasing: around[headBytes...])
    events = number(4)
    batchID = id.lowerBound == 0 ? nil : id
  }

  /// Bytes around the events.
  var count: Int { head.count + tail.count }
}

extension WebEnvelope {
  /// Where an envelope is put together. One thread at a time may use it.
  final class Buffer {
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 8)
    private var used = 0

    deinit { bytes.deallocate() }

    /// Good until the buffer is changed.
    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<used]) }

    func removeAll() { used = 0 }

    /// Takes what stands around the events of a batch that has some, none of them left out.
    func fill(of fields: Fields, in body: UnsafeRawBufferPointer) {
      used = 0
      let events = fields[0].range.lowerBound..<fields[fields.count - 1].range.upperBound
      if fields.body.hasRepeats { return make(fields, in: body) }
      let id = fields.body[0]
      // In head and tail together it lies as in the body, less the events.
      let idBegin = id.range.lowerBound > events.upperBound ? id.range.lowerBound - events.count : id.range.lowerBound
      putFront(
        head: events.lowerBound, events: fields.count, id: id.isAbsent ? 0..<0 : idBegin..<idBegin + id.range.count)
      put(body[..<events.lowerBound])
      put(body[events.upperBound...])
    }

    /// Of a body with a member twice only what counts of it is kept: the other `events` may hold anybody's.
    private func make(_ fields: Fields, in body: UnsafeRawBufferPointer) {
      let head: StaticString = #"{"events":["#
      let (id, time) = (fields.body[0], fields.body[1])
      // (Behind `]`, a comma and the name.)
      let idBegin = head.utf8CodeUnitCount + Self.batchID.utf8CodeUnitCount + 1
      putFront(
        head: head.utf8CodeUnitCount, events: fields.count, id: id.isAbsent ? 0..<0 : idBegin..<idBegin + id.range.count
      )
      put(head)
      put("]")
      for (name, field) in [(Self.batchID, id), (Self.timestamp, time)] where !field.isAbsent {
        put(name)
        put(body[field.range])
      }
      put("}")
    }

    private static let batchID: StaticString = #","batchId":"#
    private static let timestamp: StaticString = #","timestamp":"#

    private func putFront(head: Int, events: Int, id: Range<Int>) {
      for number in [head, events, id.lowerBound, id.count] {
        withUnsafeBytes(of: UInt32(number).littleEndian) { put($0[...]) }
      }
    }

    private func put(_ text: StaticString) {
      put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)[...])
    }

    private func put(_ source: Slice<UnsafeRawBufferPointer>) {
      if used + source.count > bytes.count {
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: (used + source.count) * 2, alignment: 8)
        grown.copyMemory(from: content)
        bytes.deallocate()
        bytes = grown
      }
      UnsafeMutableRawBufferPointer(rebasing: bytes[used...]).copyMemory(from: UnsafeRawBufferPointer(rebasing: source))
      used += source.count
    }
  }
}
