import Clocks
import EventsAPI

/// An event's members, as one of the forms calls them.
struct DatalyrEvent {
  var form: DatalyrForm
  /// The event as a whole.
  var element: JSONElement
  /// Where its members are found by the form's names; mostly the same.
  var members: JSONElement

  subscript(_ member: DatalyrForm.Member) -> JSONField { members[member.rawValue] }
}

/// The protocol's rules for one event: facts in, verdict out.
///
/// They are no stricter than the vendor's documents: members that those don't name are let in, whatever they are.
struct DatalyrRules {
  /// What stands before a member's name in messages: `events[3].`
  var place = ""

  /// What the log has to know of an event that keeps all rules; else which one it breaks, and what would be right.
  func judge(_ event: DatalyrEvent) -> Result<AcceptedEvent, APIError> {
    guard event.element.range.count <= DatalyrLimits.eventBytesMax else { return .failure(tooLarge) }
    if let fault = fault(of: event) { return .failure(fault) }
    guard let time = event[.time].withBytes({ $0.flatMap { OccurredAt.parse($0) } }) else {
      return .failure(broken(event, .time, .time))
    }
    var accepted = AcceptedEvent()
    accepted.offset = event.element.range.lowerBound
    accepted.length = event.element.range.count
    accepted.hasLineBreaks = event.element.hasLineBreaks
    func offset(_ member: DatalyrForm.Member) -> Int { event[member].range.lowerBound - accepted.offset }
    accepted.nameOffset = offset(.name)
    accepted.occurredAtOffset = offset(.time)
    accepted.anonymousIDOffset = offset(.anonymousID)
    (accepted.idHigh, accepted.idLow) = event[.id].id
    accepted.installHash = event[.anonymousID].hash
    if event[.userID].isString(of: DatalyrLimits.idLengths) {
      accepted.hasUser = true
      accepted.userIDOffset = offset(.userID)
      accepted.userHash = event[.userID].hash
    }
    accepted.occurredAt = time
    return .success(accepted)
  }

  private func fault(of event: DatalyrEvent) -> APIError? {
    let (name, id) = (DatalyrLimits.nameLengths, DatalyrLimits.idLengths)
    for (member, lengths) in [(DatalyrForm.Member.name, name), (.id, id), (.anonymousID, id)]
    where !event[member].isString(of: lengths) {
      return broken(event, member, .text(lengths))
    }
    let user = event[.userID]
    // (An SDK that writes an empty one before anybody is known must not lose its events by it.)
    if !user.isAbsent, !user.isNull, !user.isString(of: 0...id.upperBound) {
      return broken(event, .userID, .textOrNothing(id))
    }
    for member in [DatalyrForm.Member.data, .context] where event.form.has(member) && !event[member].isObject {
      return broken(event, member, .object)
    }
    return nil
  }

  private func broken(_ event: DatalyrEvent, _ member: DatalyrForm.Member, _ wanted: Wanted) -> APIError {
    .invalidEvent(
      "\"\(place)\(event.form.name(of: member))\" must be \(wanted); it is \(wanted.asFound(event[member])).")
  }

  private var tooLarge: APIError {
    let what = place.isEmpty ? "The event" : "\"\(place.dropLast())\""
    return APIError(
      status: 413, code: "payload_too_large",
      message: "\(what) is over \(DatalyrLimits.eventBytesMax) bytes, which is the most that an event may have.")
  }
}

/// What a member must be, for messages.
private enum Wanted: CustomStringConvertible {
  case text(ClosedRange<Int>)
  case textOrNothing(ClosedRange<Int>)
  case time
  case object

  var description: String {
    switch self {
    case .text(let lengths): "a string of \(lengths.lowerBound) to \(lengths.upperBound) characters"
    case .textOrNothing(let lengths): "\(Wanted.text(lengths)), empty, null or left out"
    case .time: "an ISO 8601 date and time with a time zone, as 2026-11-30T06:12:50.651Z"
    case .object: "an object"
    }
  }

  /// What a sender sent instead: told by its kind and never by its content.
  func asFound(_ field: JSONField) -> String {
    guard field.isString else { return field.kindName }
    return switch self {
    case .text, .textOrNothing: field.range.count == 2 ? "empty" : "longer"
    case .time: "another text"
    case .object: "a string"
    }
  }
}

extension APIError {
  static func invalidEvent(_ message: String) -> APIError {
    APIError(status: 400, code: "invalid_event", message: message)
  }
}
