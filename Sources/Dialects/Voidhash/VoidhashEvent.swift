import Clocks
import EventsAPI

/// The protocol's rules for one event. Pure: members in, verdict out.
enum VoidhashEvent {
  /// The members that are looked at, in the order of the rules.
  private static let members = ["uuid", "event", "distinct_id", "properties", "context", "session_id", "timestamp"]
  static let names = members.joined(separator: " ")
  private static let anonymousPrefix = Array("vh:anon:".utf8)

  static func judge(_ element: JSONElement) -> Result<AcceptedEvent, VoidhashFault> {
    guard element.isObject else { return .failure(VoidhashFault(field: nil, wanted: VoidhashFault.object)) }
    for place in 0...2 where !element[place].isString(of: VoidhashLimits.textLengths) {
      return .failure(VoidhashFault(members[place], VoidhashFault.text, element[place]))
    }
    for place in 3...4 where !element[place].isObject {
      return .failure(VoidhashFault(members[place], VoidhashFault.object, element[place]))
    }
    let session = element[5]
    guard session.isAbsent || session.isNull || session.isString(of: VoidhashLimits.textLengths) else {
      return .failure(VoidhashFault(members[5], VoidhashFault.text + ", or be left out", session))
    }
    guard let time = time(element[6]) else {
      return .failure(VoidhashFault(members[6], VoidhashFault.time, element[6]))
    }
    return .success(describe(element, at: time))
  }

  private static func describe(_ element: JSONElement, at time: Timestamp) -> AcceptedEvent {
    let begin = element.range.lowerBound
    let person = element[2]
    var event = AcceptedEvent()
    event.offset = begin
    event.length = element.range.count
    event.hasLineBreaks = element.hasLineBreaks
    (event.idHigh, event.idLow) = element[0].id
    event.nameOffset = element[1].range.lowerBound - begin
    event.anonymousIDOffset = person.range.lowerBound - begin
    event.installHash = person.hash
    event.occurredAt = time
    event.occurredAtOffset = element[6].range.lowerBound - begin
    // (Whoever has an id that no SDK made up is known to the app: a user.)
    if !person.withBytes({ $0?.starts(with: anonymousPrefix) ?? true }) {
      event.userIDOffset = event.anonymousIDOffset
      event.userHash = event.installHash
      event.hasUser = true
    }
    return event
  }

  /// The moment that a member names; nil when it names none.
  static func time(_ field: JSONField) -> Timestamp? {
    field.withBytes { bytes in bytes.flatMap { OccurredAt.parse($0) } }
  }
}

/// What is wrong with an event. Holds nothing of it.
struct VoidhashFault: Error, Equatable {
  /// Nil: the event as a whole.
  var field: String?
  var wanted: String
  var isMissing: Bool

  static let text =
    "a string of \(VoidhashLimits.textLengths.lowerBound) to \(VoidhashLimits.textLengths.upperBound) characters"
  static let object = "a JSON object"
  static let time = "a moment in ISO 8601 with its time zone, such as 2026-11-30T06:17:17.895Z"

  init(field: String?, wanted: String, isMissing: Bool = false) {
    self.field = field
    self.wanted = wanted
    self.isMissing = isMissing
  }

  init(_ field: String, _ wanted: String, _ value: JSONField) {
    self.init(field: field, wanted: wanted, isMissing: value.isAbsent)
  }

  /// - Parameter name: how the event is called; nil: it is the body.
  func sentence(about name: String?) -> String {
    let subject = [name, field].compactMap { $0 }.joined(separator: ".")
    return "\(subject.isEmpty ? "The body" : subject) must be \(wanted)\(isMissing ? "; it is missing" : "")."
  }
}
