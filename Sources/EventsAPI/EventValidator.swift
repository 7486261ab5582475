import CSimdjson
import Clocks

/// The API's rules for one event, in the order the spec gives them. Pure: facts and bytes in, verdict out.
struct EventValidator {
  /// The first and the last moment that `occurred_at` may be without being clamped.
  private let earliest: Timestamp
  private let latest: Timestamp

  /// - Parameter judgesTime: false: any time is let through as it is.
  init(receivedAt: Timestamp, judgesTime: Bool = true) {
    earliest = judgesTime ? receivedAt - EventsLimits.pastMax : Timestamp(milliseconds: .min)
    latest = judgesTime ? receivedAt + EventsLimits.futureMax : Timestamp(milliseconds: .max)
  }

  /// Judges an event and describes it in `event`, which counts only when nothing is returned.
  @inline(__always)
  func violation(
    of facts: UnsafePointer<event_facts>, in body: UnsafeRawPointer, describingIt event: inout AcceptedEvent
  ) -> RuleViolation? {
    let begin = Int(facts.pointee.begin)
    guard facts.pointee.kind == JSONKind.object else { return .notAnObject }
    guard facts.pointee.size <= EventsLimits.eventBytesMax else { return .tooLarge }
    event.offset = begin
    event.length = Int(facts.pointee.end) - begin
    event.hasLineBreaks = facts.pointee.has_line_breaks
    if let broken = EventName.violation(of: facts.pointee.name, in: body) { return broken }
    event.nameOffset = Int(facts.pointee.name.begin) - begin
    if let broken = judgeIDs(of: facts, in: body, &event) { return broken }
    let time = facts.pointee.occurred_at
    guard time.kind == JSONKind.string, let occurredAt = OccurredAt.parse(time, in: body) else { return .occurredAt }
    event.occurredAt = occurredAt
    event.occurredAtOffset = Int(time.begin) - begin
    event.isClamped = occurredAt < earliest || occurredAt > latest
    return Self.violation(of: facts.pointee.properties)
  }

  /// Judges `event_id`, `anonymous_id` and `user_id`.
  @inline(__always)
  private func judgeIDs(
    of facts: UnsafePointer<event_facts>, in body: UnsafeRawPointer, _ event: inout AcceptedEvent
  ) -> RuleViolation? {
    guard let id = Self.eventID(facts.pointee.event_id, in: body) else { return .eventID }
    event.idHigh = id.high
    event.idLow = id.low
    event.idCapitals = id.capitals
    return Self.judgePerson(of: facts, in: body, &event)
  }

  /// Judges `anonymous_id` and `user_id`.
  @inline(__always)
  static func judgePerson(
    of facts: UnsafePointer<event_facts>, in body: UnsafeRawPointer, _ event: inout AcceptedEvent
  ) -> RuleViolation? {
    let begin = Int(facts.pointee.begin)
    let install = facts.pointee.anonymous_id
    guard isID(install, in: body) else { return .anonymousID }
    event.anonymousIDOffset = Int(install.begin) - begin
    event.installHash = hash(install, in: body)
    let user = facts.pointee.user_id
    if user.kind == JSONKind.absent || user.kind == JSONKind.null { return nil }
    guard isID(user, in: body) else { return .userID }
    event.userIDOffset = Int(user.begin) - begin
    event.userHash = hash(user, in: body)
    event.hasUser = true
    return nil
  }

  @inline(__always)
  private static func eventID(_ token: event_token, in body: UnsafeRawPointer) -> EventID? {
    guard token.kind == JSONKind.string else { return nil }
    if !token.is_escaped {
      return token.contentCount == EventID.textLength ? EventID.parse(token.content(in: body)) : nil
    }
    return token.withUnescaped(in: body, capacity: EventID.textLength) { bytes in
      bytes.flatMap { $0.count == EventID.textLength ? EventID.parse($0.baseAddress!) : nil }
    }
  }

  /// Whether a value is a string of 1 to 128 characters.
  @inline(__always)
  private static func isID(_ token: event_token, in body: UnsafeRawPointer) -> Bool {
    guard token.kind == JSONKind.string, token.contentCount > 0 else { return false }
    if token.contentCount <= EventsLimits.idLengthMax { return true }
    return json_text_scalars(token.content(in: body), token.contentCount) <= EventsLimits.idLengthMax
  }

  /// The hash of an id that is known to have at most 128 characters.
  @inline(__always)
  private static func hash(_ token: event_token, in body: UnsafeRawPointer) -> UInt64 {
    if !token.is_escaped { return event_hash(token.content(in: body), token.contentCount) }
    return token.withUnescaped(in: body, capacity: EventsLimits.idLengthMax * 4) { bytes in
      bytes.map { event_hash($0.baseAddress, $0.count) } ?? 0
    }
  }

  @inline(__always)
  private static func violation(of properties: event_properties) -> RuleViolation? {
    if properties.kind == JSONKind.absent || properties.kind == JSONKind.null { return nil }
    guard properties.kind == JSONKind.object else { return .propertiesKind }
    if properties.count > EventsLimits.propertiesMax { return .tooManyProperties }
    if properties.has_bad_key { return .propertyKey }
    if properties.has_nested_value { return .nestedProperty }
    return properties.has_long_string ? .longProperty : nil
  }
}
