import Clocks
import Glibc
import JSON

/// Which lines are meant; what is nil doesn't matter.
public struct LineFilter: Sendable, Equatable {
  /// `received_at` from `since` on, and before `until`.
  public var since, until: Timestamp?
  public var app: String?
  /// Of the event; an identify call has no name.
  public var name, anonymousID, userID: String?

  public init(
    since: Timestamp? = nil, until: Timestamp? = nil, app: String? = nil, name: String? = nil,
    anonymousID: String? = nil, userID: String? = nil
  ) {
    self.since = since
    self.until = until
    self.app = app
    self.name = name
    self.anonymousID = anonymousID
    self.userID = userID
    sinceText = since?.utf8
    untilText = until?.utf8
    texts = [app, name, anonymousID, userID].compactMap { $0 }.map { text in
      var literal: [UInt8] = []
      JSONText.appendString(text, to: &literal)
      return literal
    }
  }

  // As they stand in a line. Moments are written in one form, whose order is that of time.
  private let sinceText, untilText: [UInt8]?
  private let texts: [[UInt8]]

  /// Whether nothing in a file can be meant, by the times the manifest tells of it.
  public func skips(_ file: ManifestFile) -> Bool {
    if let since, file.receivedUntil < since { return true }
    if let until, file.receivedFrom >= until { return true }
    return false
  }

  /// Whether a line, without its line feed, is meant.
  public func admits(_ line: UnsafeRawBufferPointer) -> Bool {
    if sinceText != nil || untilText != nil {
      guard let receivedAt = LineHead.receivedAt(of: line) else { return false }
      if let sinceText, compare(receivedAt, sinceText) < 0 { return false }
      if let untilText, compare(receivedAt, untilText) >= 0 { return false }
    }
    guard !texts.isEmpty else { return true }
    // Parsing costs more than looking for the texts; with an escape in it, a text can be written in many ways.
    guard let base = line.baseAddress else { return false }
    let hasEscapes = memchr(base, Int32(UInt8(ascii: "\\")), line.count) != nil
    guard hasEscapes || texts.allSatisfy({ LineHead.find($0, in: line) != nil }) else { return false }
    guard let json = try? JSONValue(parsing: line) else { return false }
    func isMeant(_ wanted: String?, _ value: JSONValue?) -> Bool { wanted == nil || wanted == value?.string }
    let event = json["event"]
    return isMeant(app, json["app"]) && isMeant(name, event?["name"])
      && isMeant(anonymousID, event?["anonymous_id"]) && isMeant(userID, event?["user_id"])
  }

  private func compare(_ text: UnsafeRawBufferPointer, _ other: [UInt8]) -> Int32 {
    other.withUnsafeBytes { memcmp(text.baseAddress!, $0.baseAddress!, min(text.count, $0.count)) }
  }
}
