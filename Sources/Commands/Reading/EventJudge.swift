import Clocks
import Dialects
import EventLog
import EventsAPI

/// Judges what stands in files by a protocol's rules, as its server would: each event as a request of its own, or a body as it
/// is.
///
/// Not thread-safe. What was found is good until the next is judged. Whose a key is isn't asked.
final class EventJudge {
  let dialect: any Dialect
  let reader: any IncomingReader
  private let lines = EventJSON()
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// What a reader may touch past a text's end.
  private static let padding = 64

  init(_ dialect: any Dialect) {
    self.dialect = dialect
    reader = dialect.incoming.makeReader()
  }

  deinit { buffer.deallocate() }

  /// Why an event is refused; nil when it isn't.
  func refusal(ofEvent event: UnsafeRawBufferPointer, at now: Timestamp) -> APIError? {
    let frame = dialect.incoming.frame(of: event)
    // (In a batch `{…},{…}` would be two events of a good body.)
    if !frame.prefix.isEmpty, let refusal = lines.refusal(ofEvent: event, at: now) { return refusal }
    return refusal(Array(frame.prefix.utf8) + event + frame.suffix.utf8, frame.route, now)
  }

  /// Why a body is refused as a whole; nil when it isn't.
  func refusal(ofBody body: [UInt8], at now: Timestamp) -> APIError? {
    refusal(body, dialect.incoming.batchRoute, now)
  }

  private func refusal(_ body: [UInt8], _ route: IncomingRoute, _ now: Timestamp) -> APIError? {
    guard body.count <= route.bodyBytesMax else { return .payloadTooLarge(bytesMax: route.bodyBytesMax) }
    if buffer.count < body.count + Self.padding {
      buffer.deallocate()
      buffer = .allocate(byteCount: (body.count + Self.padding) * 2, alignment: 16)
    }
    buffer.copyBytes(from: body)
    let fault = reader.read(
      UnsafeRawBufferPointer(rebasing: buffer[..<body.count]), of: UnsentRequest(path: route.path), route,
      receivedAt: now,
      judgesTime: true)
    if case .refused(let why) = reader.bodyKey { return .invalidWriteKey(why) }
    return fault
  }

  /// The events of the body that was judged last, with their bytes.
  func accepted() -> [(event: AcceptedEvent, bytes: [UInt8])] {
    reader.accepted.map { ($0, Array($0.bytes(in: reader.storedBody))) }
  }
}

/// A request that nobody has sent: it has no headers.
struct UnsentRequest: IncomingRequest {
  let method = "POST"
  let path: String

  func header(_ name: StaticString) -> String? { nil }
}
