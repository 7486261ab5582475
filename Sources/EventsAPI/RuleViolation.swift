/// The rule an event breaks first.
enum RuleViolation: Sendable, CaseIterable {
  case notAnObject
  case tooLarge
  case reservedName
  case name
  case eventID
  case anonymousID
  case userID
  case occurredAt
  case tooManyProperties
  case propertiesKind
  case propertyKey
  case nestedProperty
  case longProperty

  var code: RejectionCode {
    switch self {
    case .notAnObject: .invalidEvent
    case .tooLarge: .eventTooLarge
    case .reservedName: .reservedName
    case .name: .invalidName
    case .eventID, .anonymousID, .userID: .invalidID
    case .occurredAt: .invalidTimestamp
    case .tooManyProperties: .tooManyProperties
    case .propertiesKind, .propertyKey, .nestedProperty, .longProperty: .invalidProperties
    }
  }

  /// What would be right. Never a word of the event's own.
  var message: String {
    switch self {
    case .notAnObject: "An event must be a JSON object."
    case .tooLarge: "An event must have at most 8192 bytes (as its shortest JSON)."
    case .reservedName: "Event names that begin with $ are reserved."
    case .name: "Event name must match ^[A-Za-z0-9_.:-]{1,64}$"
    case .eventID: "event_id must be a UUID: 8-4-4-4-12 hex digits."
    case .anonymousID: "anonymous_id must be a string of 1 to 128 characters."
    case .userID: "user_id must be null or a string of 1 to 128 characters."
    case .occurredAt:
      "occurred_at must be an existing ISO 8601 date and time with a time zone, such as 2026-10-23T12:00:00.123Z."
    case .tooManyProperties: "properties must have at most 50 keys."
    case .propertiesKind: "properties must be an object."
    case .propertyKey: "Keys of properties must have 1 to 64 characters."
    case .nestedProperty: "Values of properties must be strings, numbers, booleans or null: nothing nested."
    case .longProperty: "Strings in properties must have at most 1024 characters."
    }
  }
}
