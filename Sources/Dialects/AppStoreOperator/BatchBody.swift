import Clocks
import EventLog
import HTTPClient

/// Makes a request's body of events as they lie in memory: `{"events":[…]}`, each event byte by byte as it came.
///
/// The one change ever made: a clamped event's `occurred_at` becomes the moment the relay received it.
enum BatchBody {
  private static let opening: StaticString = #"{"events":["#
  private static let closing: StaticString = "]}"
  private static let comma = UInt8(ascii: ",")
  /// Bytes of the frame around the events.
  static let frameBytes = opening.utf8CodeUnitCount + closing.utf8CodeUnitCount

  /// Fills the body with the batch's first events: all of them, unless the moments put in made them too many bytes.
  ///
  /// - Returns: how many events went in; at least one, however large.
  static func fill(_ body: RequestBody, from batch: EventBatch, bytesMax: Int) -> Int {
    body.removeAll()
    append(opening, to: body)
    let source = UnsafeRawBufferPointer(batch.bytes)
    // The run of neighbouring events that is copied as one.
    var run = 0..<0
    var filled = 0
    for event in batch.events {
      let range = event.offset..<event.offset + event.index.length
      let value = event.index.flags.contains(.clamped) ? occurredAt(of: event, in: source) : nil
      let length = range.count + (value.map { stampBytes - $0.count } ?? 0)
      let before = body.count + run.count + (filled > 0 ? 1 : 0)
      if filled > 0, before + length + closing.utf8CodeUnitCount > bytesMax { break }
      if let value {
        flush(&run, of: source, to: body)
        if filled > 0 { body.append(comma) }
        body.append(UnsafeRawBufferPointer(rebasing: source[range.lowerBound..<value.lowerBound]))
        append(event.receivedAt, to: body)
        body.append(UnsafeRawBufferPointer(rebasing: source[value.upperBound..<range.upperBound]))
      } else if !run.isEmpty, range.lowerBound == run.upperBound + 1, source[run.upperBound] == comma {
        run = run.lowerBound..<range.upperBound
      } else {
        flush(&run, of: source, to: body)
        if filled > 0 { body.append(comma) }
        run = range
      }
      filled += 1
    }
    flush(&run, of: source, to: body)
    append(closing, to: body)
    return filled
  }

  /// Fills the body with the one event of the batch, without a frame.
  static func fill(_ body: RequestBody, withOnly event: StoredEvent, of batch: EventBatch) {
    body.removeAll()
    body.append(batch.bytes(of: event))
  }

  /// Where the value of `occurred_at` stands in the bytes, quotes included; nil when no string is there.
  static func occurredAt(of event: StoredEvent, in source: UnsafeRawBufferPointer) -> Range<Int>? {
    let end = event.offset + event.index.length
    let start = event.offset + event.index.occurredAtOffset
    guard event.index.occurredAtOffset > 0, start < end, source[start] == UInt8(ascii: "\"") else { return nil }
    var at = start + 1
    while at < end {
      switch source[at] {
      case UInt8(ascii: "\""): return start..<at + 1
      case UInt8(ascii: "\\"): at += 2
      default: at += 1
      }
    }
    return nil
  }

  /// Bytes of a moment with its quotes.
  private static let stampBytes = 26

  private static func append(_ moment: Timestamp, to body: RequestBody) {
    body.append(UInt8(ascii: "\""))
    body.append(moment.utf8)
    body.append(UInt8(ascii: "\""))
  }

  private static func append(_ text: StaticString, to body: RequestBody) {
    body.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func flush(_ run: inout Range<Int>, of source: UnsafeRawBufferPointer, to body: RequestBody) {
    guard !run.isEmpty else { return }
    body.append(UnsafeRawBufferPointer(rebasing: source[run]))
    run = 0..<0
  }
}
