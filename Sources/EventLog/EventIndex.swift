import Clocks

/// What kind of thing a sender posted.
public enum EventKind: UInt8, Sendable {
  case event = 1
  case identify = 2

  /// How the kind is called in records on disk.
  public var name: String {
    switch self {
    case .event: "event"
    case .identify: "identify"
    }
  }
}

/// What is known of one stored event without parsing its JSON again.
public struct EventIndex: Sendable, Equatable {
  public struct Flags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `occurred_at` was out of range when the event came; the forwarded copy carries `received_at` in its place.
    public static let clamped = Flags(rawValue: 1 << 0)
    /// A line break stands between the event's tokens; a line file writes a space for it.
    public static let lineBreaks = Flags(rawValue: 1 << 1)
    /// The event has a `user_id` that is a string.
    public static let hasUser = Flags(rawValue: 1 << 2)
    /// `occurred_at` was not judged: the clock was plainly wrong.
    public static let unjudged = Flags(rawValue: 1 << 3)
    /// The event has the second of the forms that its protocol has for events.
    public static let otherForm = Flags(rawValue: 1 << 4)
  }

  /// The 16 bytes of `event_id`, the first eight as a big-endian number; zero for an identify call.
  public var idHigh, idLow: UInt64
  /// Hash of the unescaped `anonymous_id`.
  public var installHash: UInt64
  /// Hash of the unescaped `user_id`; 0 without one.
  public var userHash: UInt64
  /// Bytes of the event, at most 1 MiB.
  public var length: Int
  /// Where the opening quote of the value of `name` stands, from the event's first byte; 0 when there is none.
  public var nameOffset: Int
  /// Where the opening quote of the value of `occurred_at` stands, from the event's first byte; 0 when there is none.
  public var occurredAtOffset: Int
  /// `occurred_at` as sent; one past what the log's format holds (the years 2491 BC to 6429) is its nearest end.
  public var occurredAt: Timestamp
  public var flags: Flags

  public init(
    idHigh: UInt64, idLow: UInt64, installHash: UInt64, userHash: UInt64, length: Int, nameOffset: Int,
    occurredAtOffset: Int, occurredAt: Timestamp, flags: Flags
  ) {
    self.idHigh = idHigh
    self.idLow = idLow
    self.installHash = installHash
    self.userHash = userHash
    self.length = length
    self.nameOffset = nameOffset
    self.occurredAtOffset = occurredAtOffset
    self.occurredAt = min(max(occurredAt, Self.occurredAtRange.lowerBound), Self.occurredAtRange.upperBound)
    self.flags = flags
  }

  /// The date that counts for the event's age: `occurred_at`, or `received_at` when that had to take its place.
  public func date(receivedAt: Timestamp) -> Timestamp { flags.contains(.clamped) ? receivedAt : occurredAt }
}

/// An event on its way into the log.
public struct DraftEvent: Sendable {
  public var index: EventIndex
  /// Where the event's first byte stands in the draft's body.
  public var offset: Int

  public init(index: EventIndex, offset: Int) {
    self.index = index
    self.offset = offset
  }
}

/// One request's events on their way into the log: stored together or not at all.
///
/// The pointers are borrowed: they must be good until `append` returns, no longer.
public struct FrameDraft {
  /// The name of the app the events belong to, at most 64 bytes of UTF-8.
  public var app: String
  public var kind: EventKind
  /// Which protocol the events came by: 0 the App Store Operator Events API.
  public var dialect: UInt8
  public var receivedAt: Timestamp
  /// What the events' offsets are counted in.
  public var body: UnsafeRawBufferPointer
  /// The events, in the sender's order.
  public var events: UnsafeBufferPointer<DraftEvent>
  /// For protocols that have one: what came around the events.
  public var envelope: UnsafeRawBufferPointer

  public init(
    app: String, kind: EventKind, dialect: UInt8 = 0, receivedAt: Timestamp, body: UnsafeRawBufferPointer,
    events: UnsafeBufferPointer<DraftEvent>,
    envelope: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    self.app = app
    self.kind = kind
    self.dialect = dialect
    self.receivedAt = receivedAt
    self.body = body
    self.events = events
    self.envelope = envelope
  }
}
