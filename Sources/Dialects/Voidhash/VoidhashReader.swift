import Clocks
import EventLog
import EventsAPI

/// Takes batches and captures apart. One bad event has the whole request refused, as the vendor's server does.
final class VoidhashReader: IncomingReader {
  private let fields = FieldReader(
    bodyBytesMax: VoidhashLimits.bodyBytesMax, elementsMax: VoidhashLimits.batchEventsMax, body: "token sent_at",
    element: VoidhashEvent.names)
  private let ownBody = PaddedBytes()
  private var mayKeep = true
  private var events: [AcceptedEvent] = []

  private(set) var bodyKey = BodyKey.unknown
  private(set) var storedBody = UnsafeRawBufferPointer(start: nil, count: 0)
  let kind = EventKind.event
  let clampedCount = 0
  let envelope = UnsafeRawBufferPointer(start: nil, count: 0)

  var accepted: [AcceptedEvent] { mayKeep ? events : [] }

  var rejectedCodes: [String] {
    mayKeep ? [] : Array(repeating: VoidhashConsent.rejectionCode, count: events.count)
  }

  func read(
    _ body: UnsafeRawBufferPointer, of request: any IncomingRequest, _ route: IncomingRoute, receivedAt: Timestamp,
    judgesTime: Bool
  ) -> APIError? {
    events.removeAll(keepingCapacity: true)
    bodyKey = .unknown
    storedBody = body
    mayKeep = VoidhashConsent.isGranted(request.header("x-analytics-consent"))
    do throws(APIError) {
      if route.path == IncomingVoidhash.capture.path {
        try readCapture(body, request)
      } else {
        try readBatch(body, request)
      }
      return nil
    } catch {
      events.removeAll(keepingCapacity: true)
      return error
    }
  }

  /// `{"events":[…],"sent_at":…,"token":…}`.
  private func readBatch(_ body: UnsafeRawBufferPointer, _ request: any IncomingRequest) throws(APIError) {
    let found = try fields.readBatch(body).get()
    bodyKey = VoidhashKey.key(found.body[0], request)
    try judge(sentAt: found.body[1])
    guard (1...VoidhashLimits.batchEventsMax).contains(found.count) else {
      throw .invalidBody(
        "events must hold 1 to \(VoidhashLimits.batchEventsMax) events, and holds \(found.count).\(Self.nothingStored)")
    }
    for index in 0..<found.count { try add(found[index], at: index) }
  }

  /// One event's members beside `sent_at` and `token`. These two are cut out of what is stored: no key may lie in archives.
  private func readCapture(_ body: UnsafeRawBufferPointer, _ request: any IncomingRequest) throws(APIError) {
    let found = try fields.readOne(body).get()
    let (token, sentAt) = (found.body[0], found.body[1])
    bodyKey = VoidhashKey.key(token, request)
    guard !found.body.hasRepeats else {
      throw .invalidBody("token or sent_at stands in the body twice; send each once.\(Self.nothingStored)")
    }
    try judge(sentAt: sentAt)
    let cuts = [token, sentAt].filter { !$0.isAbsent }.map { $0.keyBegin..<$0.range.upperBound }
    guard !cuts.isEmpty else { return try add(found[0], at: nil) }
    storedBody = ownBody.hold(MemberCutter.cut(cuts, outOf: found[0].range, of: body))
    try add(try fields.readOne(storedBody).get()[0], at: nil)
  }

  /// - Parameter index: nil for an event that is the body.
  private func add(_ element: JSONElement, at index: Int?) throws(APIError) {
    switch VoidhashEvent.judge(element) {
    case .success(var event):
      event.index = index ?? 0
      events.append(event)
    case .failure(let fault):
      throw .invalidBody(fault.sentence(about: index.map { "events[\($0)]" }) + Self.nothingStored)
    }
  }

  /// The relay sends a moment of its own, so that none is asked for here; one that is there must be one.
  private func judge(sentAt: JSONField) throws(APIError) {
    guard !sentAt.isAbsent, !sentAt.isNull, VoidhashEvent.time(sentAt) == nil else { return }
    throw .invalidBody("sent_at must be \(VoidhashFault.time), or be left out.\(Self.nothingStored)")
  }

  private static let nothingStored = " Nothing of this request was stored."

  func readRecord(_ event: UnsafeRawBufferPointer, kind: EventKind, receivedAt: Timestamp) -> AcceptedEvent? {
    guard kind == .event, case .success(let found) = fields.readOne(event) else { return nil }
    return try? VoidhashEvent.judge(found[0]).get()
  }

  func answer() -> DialectAnswer {
    let (stored, rejected) = mayKeep ? (events.count, 0) : (0, events.count)
    return DialectAnswer(status: 202, body: Array(#"{"accepted":\#(stored),"rejected":\#(rejected)}"#.utf8))
  }
}
