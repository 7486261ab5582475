import Clocks
import EventLog
import HTTPClient
import JSON

/// Makes a request's body: `{"events":[…],"sent_at":"…","token":"…"}`, each event byte by byte as it came.
enum VoidhashBatchBody {
  private static let opening = Array(#"{"events":["#.utf8)
  private static let comma = UInt8(ascii: ",")

  /// Bytes around the events of a request without a token.
  static let frameBytes = opening.count + closing(token: nil, sentAt: Timestamp(milliseconds: 0)).count

  /// Fills the body with the batch's first events, as many as fit; at least one.
  ///
  /// - Parameter token: nil: the key isn't in the body.
  /// - Returns: how many went in.
  static func fill(
    _ body: RequestBody, from batch: EventBatch, token: String?, sentAt: Timestamp, bytesMax: Int
  ) -> Int {
    body.removeAll()
    body.append(opening)
    let closing = closing(token: token, sentAt: sentAt)
    let source = UnsafeRawBufferPointer(batch.bytes)
    // The run of neighbouring events that is copied as one.
    var run = 0..<0
    var filled = 0
    for event in batch.events {
      let range = event.offset..<event.offset + event.index.length
      let separator = filled > 0 ? 1 : 0
      if filled > 0, body.count + run.count + separator + range.count + closing.count > bytesMax { break }
      if !run.isEmpty, range.lowerBound == run.upperBound + 1, source[run.upperBound] == comma {
        run = run.lowerBound..<range.upperBound
      } else {
        body.append(UnsafeRawBufferPointer(rebasing: source[run]))
        if filled > 0 { body.append(comma) }
        run = range
      }
      filled += 1
    }
    body.append(UnsafeRawBufferPointer(rebasing: source[run]))
    body.append(closing)
    return filled
  }

  private static func closing(token: String?, sentAt: Timestamp) -> [UInt8] {
    var out = Array(#"],"sent_at":""#.utf8)
    sentAt.write(to: &out)
    out.append(UInt8(ascii: "\""))
    if let token {
      out += #","token":"#.utf8
      JSONText.appendString(token, to: &out)
    }
    out.append(UInt8(ascii: "}"))
    return out
  }
}
