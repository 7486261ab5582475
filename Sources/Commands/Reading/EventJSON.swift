import Clocks
import EventsAPI

/// Tells whether a text is one JSON object, whatever the protocol. Not thread-safe.
final class EventJSON {
  private let reader = EventsReader()

  /// What is wrong with it; nil when it is one.
  func refusal(ofEvent event: UnsafeRawBufferPointer, at now: Timestamp) -> APIError? {
    let padded = Array(event) + [UInt8](repeating: 0, count: 64)
    let refusal = padded.withUnsafeBytes {
      reader.readEvent(UnsafeRawBufferPointer(rebasing: $0[..<event.count]), receivedAt: now)
    }
    guard let refusal, refusal.message.hasPrefix("The body ") else { return refusal }
    // The reader's words are about a request's body, and this one isn't in one yet.
    return APIError(
      status: refusal.status, code: refusal.code, message: "The event " + refusal.message.dropFirst(9))
  }
}
