import Clocks
import EventLog
import JSON

/// Why an event couldn't be delivered: what a dead letter's line has beyond another record's.
public struct DeadLetterDetails: Sendable, Equatable {
  /// Bytes of the other side's words that are kept: they are as long as it likes.
  public static let messageBytesMax = 2048
  public static let codeBytesMax = 128

  public var destination: String
  public var reason: Outcome
  /// The answer's status; null in the line when there was none.
  public var status: Int?
  /// The other side's code and message; null in the line when it gave none.
  public var code, message: String?
  public var attempts: Int
  /// When it was given up.
  public var at: Timestamp

  public init(
    destination: String, reason: Outcome, status: Int?, code: String?, message: String?, attempts: Int, at: Timestamp
  ) {
    self.destination = destination
    self.reason = reason
    self.status = status
    self.code = code
    self.message = message
    self.attempts = attempts
    self.at = at
  }

  /// Appends `,"destination":"…","reason":"…","status":…,"code":…,"message":…,"attempts":…,"at":"…"`.
  func write(to out: inout [UInt8]) {
    out += #","destination":"#.utf8
    JSONText.appendString(destination, to: &out)
    out += #","reason":""#.utf8
    out += reason.rawValue.utf8
    out += #"","status":"#.utf8
    out += (status.map { "\($0)" } ?? "null").utf8
    out += #","code":"#.utf8
    Self.write(code, max: Self.codeBytesMax, to: &out)
    out += #","message":"#.utf8
    Self.write(message, max: Self.messageBytesMax, to: &out)
    out += #","attempts":"#.utf8
    out += "\(attempts)".utf8
    out += #","at":""#.utf8
    at.write(to: &out)
    out.append(UInt8(ascii: "\""))
  }

  private static func write(_ text: String?, max: Int, to out: inout [UInt8]) {
    guard let text else {
      out += "null".utf8
      return
    }
    guard text.utf8.count > max else { return JSONText.appendString(text, to: &out) }
    // A cut in the middle of a character is mended with the replacement character.
    JSONText.appendString(String(decoding: text.utf8.prefix(max), as: UTF8.self) + "…", to: &out)
  }
}
