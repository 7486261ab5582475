import JSON

/// An event of a valid batch that isn't stored, and why: an entry of the answer's `rejected`.
public struct Rejection: Sendable, Equatable {
  /// Position among the request's events.
  public var index: Int
  /// The JSON string that was sent as `event_id`, quotes and escapes included; nil when there is none that is a string.
  public var eventIDToken: [UInt8]?
  public var code: RejectionCode
  /// What is wrong and what would be right. Holds nothing of the event.
  public var message: String

  public init(index: Int, eventIDToken: [UInt8]?, code: RejectionCode, message: String) {
    self.index = index
    self.eventIDToken = eventIDToken
    self.code = code
    self.message = message
  }

  public init(index: Int, eventID: String?, code: RejectionCode, message: String) {
    let token = eventID.map { JSONValue.string($0).utf8 }
    self.init(index: index, eventIDToken: token, code: code, message: message)
  }

  /// The `event_id` that was sent, unescaped; a lone surrogate shows as U+FFFD.
  public var eventID: String? { eventIDToken.map { JSONStringToken.unescaped($0[...]) } }
}
