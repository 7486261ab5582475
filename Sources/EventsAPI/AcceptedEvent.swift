import Clocks

/// An event of a body that keeps all rules of its protocol: where it stands and what is known of it. Plain numbers only.
///
/// The members are called as in the App Store Operator Events API; another protocol's are those with the same meaning.
public struct AcceptedEvent: Sendable, Equatable {
  /// Position among the request's events.
  public var index = 0
  /// Where the event's first byte stands in the body.
  public var offset = 0
  /// Bytes of the event.
  public var length = 0
  // Where the opening quotes of values stand, from the event's first byte; 0 for a member that isn't there.
  public var nameOffset = 0
  public var occurredAtOffset = 0
  public var anonymousIDOffset = 0
  /// 0 too when `user_id` is null.
  public var userIDOffset = 0
  /// The 16 bytes of `event_id`, the first eight as a big-endian number; zero for an identify call.
  public var idHigh: UInt64 = 0
  public var idLow: UInt64 = 0
  /// Which of the 32 hex digits of `event_id` came as capital letters, the first at bit 0.
  public var idCapitals: UInt32 = 0
  /// Hash of the unescaped `anonymous_id`.
  public var installHash: UInt64 = 0
  /// Hash of the unescaped `user_id`; 0 without one.
  public var userHash: UInt64 = 0
  /// As sent, whole milliseconds; of an identify call, when it was received.
  public var occurredAt = Timestamp(milliseconds: 0)
  /// `occurred_at` is out of range: the time of receipt takes its place.
  public var isClamped = false
  /// A line break stands between the event's tokens.
  public var hasLineBreaks = false
  /// `user_id` is a string.
  public var hasUser = false
  /// It has the second of the forms that its protocol has for events.
  public var isOtherForm = false

  public init() {}

  /// `event_id` as it was sent.
  public var eventID: String { EventID(high: idHigh, low: idLow, capitals: idCapitals).description }
}
