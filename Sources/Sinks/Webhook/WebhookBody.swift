import Clocks
import EventLog
import HTTPClient
import Records

/// A request's body as it grows: `{"type":"events.batch","timestamp":"…","data":{"events":[…]}}`, an event a record line.
///
/// One buffer, used again for the next batch. Not thread-safe; handed to the client between ``close(at:)`` and the answer.
final class WebhookBody {
  private static let opening = Array(#"{"type":"events.batch","timestamp":""#.utf8)
  private static let middle = Array(#"","data":{"events":["#.utf8)
  private static let closing = Array("]}}".utf8)
  /// Bytes of a moment: `2026-10-23T12:04:31.512Z`.
  private static let stampBytes = 24
  /// Bytes around the events.
  static let frameBytes = opening.count + stampBytes + middle.count + closing.count
  /// Bytes that a line adds to its event's, most often less: what stands before it and a comma.
  static let lineBytesLikelyMax = 320
  /// Buffers that grew beyond this many bytes are not kept.
  private static let keptBytesMax = 2 << 20

  private(set) var request = RequestBody()
  private let line: RecordLines
  /// Where each event's line begins and ends.
  private var lines: [Range<Int>] = []
  /// The numbers of the first event and the last.
  private(set) var range: ClosedRange<UInt64>?
  private let relay: String

  /// - Parameter relay: the instance's id, `relay` in each line.
  init(relay: String) {
    self.relay = relay
    line = RecordLines(relay: relay, capacity: 8192)
  }

  var count: Int { lines.count }
  var isEmpty: Bool { lines.isEmpty }
  /// Bytes of the body, were it closed now.
  var length: Int { lines.isEmpty ? Self.frameBytes : request.count + Self.closing.count }
  var bytes: UnsafeRawBufferPointer { request.content }

  func removeAll() {
    if request.bytes.count > Self.keptBytesMax { request = RequestBody() } else { request.removeAll() }
    lines.removeAll(keepingCapacity: true)
    range = nil
  }

  /// Adds an event; false when the body would then be longer than so many bytes, unless it is the first.
  func append(_ event: StoredEvent, app: String, bytes: UnsafeRawBufferPointer, bytesMax: Int) -> Bool {
    line.removeAll()
    line.append(event, app: app, bytes: bytes)
    // (Without its line feed.)
    let text = UnsafeRawBufferPointer(rebasing: line.bytes.dropLast())
    if lines.isEmpty {
      request.removeAll()
      request.append(Self.opening)
      request.append(repeatElement(UInt8(ascii: "0"), count: Self.stampBytes))
      request.append(Self.middle)
    } else {
      guard length + text.count + 1 <= bytesMax else { return false }
      request.append(UInt8(ascii: ","))
    }
    let start = request.count
    request.append(text)
    lines.append(start..<request.count)
    range = (range?.lowerBound ?? event.sequence)...event.sequence
    return true
  }

  /// Ends the body, with the moment it was put together at.
  func close(at moment: Timestamp) {
    precondition(!lines.isEmpty, "a body without events is never sent")
    moment.utf8.withUnsafeBytes { stamp in
      precondition(stamp.count == Self.stampBytes, "a moment of the years 0000 to 9999")
      UnsafeMutableRawBufferPointer(
        rebasing: request.bytes[Self.opening.count..<Self.opening.count + Self.stampBytes]
      ).copyMemory(from: stamp)
    }
    request.append(Self.closing)
  }

  /// Makes the events' lines into dead letters' lines, one behind the other.
  func appendDeadLetters(to out: RecordLines, _ details: DeadLetterDetails) {
    for range in lines { out.append(line: UnsafeRawBufferPointer(rebasing: bytes[range]), deadLetter: details) }
  }
}
