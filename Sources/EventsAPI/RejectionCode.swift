/// Why an event of a valid batch is not stored. In the order in which the rules are checked.
public enum RejectionCode: String, Sendable, CaseIterable {
  case invalidEvent = "invalid_event"
  case eventTooLarge = "event_too_large"
  case reservedName = "reserved_name"
  case invalidName = "invalid_name"
  case invalidID = "invalid_id"
  case invalidTimestamp = "invalid_timestamp"
  case tooManyProperties = "too_many_properties"
  case invalidProperties = "invalid_properties"
  case tooManyEventNames = "too_many_event_names"
}
