import CSimdjson
import Clocks

/// Reads requests' bodies and judges the events in them by the API's rules.
///
/// One thread at a time may use a reader; it is meant to be kept, since it keeps its memory. Bodies must be readable
/// for 64 bytes past their end. What it found is there until the next body is read.
public final class EventsReader {
  /// The events that keep all rules, in the request's order.
  public private(set) var accepted: [AcceptedEvent] = []
  /// The events that break a rule, in the request's order.
  public private(set) var rejected: [Rejection] = []
  /// Those of the accepted whose `occurred_at` is out of range.
  public private(set) var clamped: [ClampedEvent] = []

  private let scanner: OpaquePointer?

  public init() {
    let limits = event_limits(
      batch_events_max: UInt32(EventsLimits.batchEventsMax), event_bytes_max: UInt32(EventsLimits.eventBytesMax),
      property_count_max: UInt32(EventsLimits.propertiesMax),
      property_key_scalars_max: UInt32(EventsLimits.propertyKeyLengthMax),
      property_string_scalars_max: UInt32(EventsLimits.propertyStringLengthMax))
    scanner = event_scanner_make(EventsLimits.bodyBytesMax, limits)
    accepted.reserveCapacity(EventsLimits.batchEventsMax)
  }

  deinit { if let scanner { event_scanner_free(scanner) } }

  /// Reads the body of `POST /v1/events`.
  ///
  /// - Parameter judgesTime: false while the clock is known to be wrong: then no event is clamped.
  /// - Returns: the answer when the body as a whole is refused; then nothing is accepted or rejected. Else nil.
  public func readBatch(
    _ body: UnsafeRawBufferPointer, receivedAt: Timestamp, judgesTime: Bool = true
  ) -> APIError? {
    removeAll()
    guard let scanner else { return .outOfMemory }
    guard body.count <= EventsLimits.bodyBytesMax else { return .payloadTooLarge }
    let scan = event_scanner_read_batch(scanner, body.baseAddress, body.count)
    if let refusal = Self.refusal(scan) { return refusal }
    guard scan.count > 0, scan.count <= EventsLimits.batchEventsMax else {
      return .invalidBody("\"events\" must hold 1 to \(EventsLimits.batchEventsMax) events, it holds \(scan.count).")
    }
    judge(scan, body.baseAddress!, EventValidator(receivedAt: receivedAt, judgesTime: judgesTime))
    return nil
  }

  /// Reads a body that is one event by itself, as a line of NDJSON is, and judges it like a batch of one.
  public func readEvent(
    _ body: UnsafeRawBufferPointer, receivedAt: Timestamp, judgesTime: Bool = true
  ) -> APIError? {
    removeAll()
    guard let scanner else { return .outOfMemory }
    guard body.count <= EventsLimits.bodyBytesMax else { return .payloadTooLarge }
    let scan = event_scanner_read_event(scanner, body.baseAddress, body.count)
    if let refusal = Self.refusal(scan) { return refusal }
    judge(scan, body.baseAddress!, EventValidator(receivedAt: receivedAt, judgesTime: judgesTime))
    return nil
  }

  /// Reads the body of `POST /v1/identify`: the object in it is the "event".
  public func readIdentify(
    _ body: UnsafeRawBufferPointer, receivedAt: Timestamp
  ) -> Result<AcceptedEvent, APIError> {
    removeAll()
    guard let scanner else { return .failure(.outOfMemory) }
    guard body.count <= EventsLimits.bodyBytesMax else { return .failure(.payloadTooLarge) }
    let scan = event_scanner_read_event(scanner, body.baseAddress, body.count)
    if let refusal = Self.refusal(scan) { return .failure(refusal) }
    let facts = scan.events!
    var event = AcceptedEvent()
    event.offset = Int(facts.pointee.begin)
    event.length = Int(facts.pointee.end) - event.offset
    event.hasLineBreaks = facts.pointee.has_line_breaks
    event.occurredAt = receivedAt
    if let broken = EventValidator.judgePerson(of: facts, in: body.baseAddress!, &event) {
      return .failure(.invalidBody(broken == .userID ? Self.userIDMessage : broken.message))
    }
    return event.hasUser ? .success(event) : .failure(.invalidBody(Self.userIDMessage))
  }

  private static let userIDMessage = "user_id must be a string of 1 to 128 characters."

  private func removeAll() {
    accepted.removeAll(keepingCapacity: true)
    rejected.removeAll(keepingCapacity: true)
    clamped.removeAll(keepingCapacity: true)
  }

  private static func refusal(_ scan: event_scan) -> APIError? {
    guard let fault = scan.fault else { return nil }
    if scan.is_out_of_memory { return .outOfMemory }
    return .invalidBody("The body \(String(cString: fault)) (at byte \(scan.fault_offset)).")
  }

  private func judge(_ scan: event_scan, _ body: UnsafeRawPointer, _ validator: EventValidator) {
    // Out of the property while it is filled: every access to that is checked.
    var accepted: [AcceptedEvent] = []
    swap(&accepted, &self.accepted)
    defer { swap(&accepted, &self.accepted) }
    for index in 0..<scan.count {
      let facts = scan.events + index
      var event = AcceptedEvent()
      event.index = index
      if let broken = validator.violation(of: facts, in: body, describingIt: &event) {
        reject(broken, index, facts, body)
        continue
      }
      if event.isClamped { clamped.append(ClampedEvent(event)) }
      accepted.append(event)
    }
  }

  @inline(never)
  private func reject(
    _ broken: RuleViolation, _ index: Int, _ facts: UnsafePointer<event_facts>, _ body: UnsafeRawPointer
  ) {
    let id = facts.pointee.event_id
    var token: [UInt8]?
    if id.kind == JSONKind.string {
      token = Array(UnsafeRawBufferPointer(start: body + Int(id.begin), count: Int(id.end - id.begin)))
    }
    rejected.append(Rejection(index: index, eventIDToken: token, code: broken.code, message: broken.message))
  }
}

extension APIError {
  static let outOfMemory = APIError.serverError("There is not enough memory to read the body; try again later.")
}
