import Clocks
import DeadLetters
import EventLog
import JSON
import Records

/// Which past events are to be sent again, and where to.
public struct ReplayRequest: Sendable, Equatable {
  public enum Source: Sendable, Equatable {
    /// What is still in the log.
    case log
    /// An archive's published files; an absolute path.
    case archive(String)
    /// The destination's dead letters.
    case deadLetters
  }

  public static let rateMax = 1_000_000

  public var destination: String
  public var source: Source
  /// Empty: all.
  public var apps: [String] = []
  /// Of events; empty: all.
  public var names: [String] = []
  /// Dead letters alone: refused with this code.
  public var code: String?
  /// From `since` on, and before `until`: received, or, of dead letters, given up.
  public var since, until: Timestamp?
  /// How the two were written: `2h` is the same wish an hour later.
  public var sinceText, untilText: String?
  /// The app whose key the events go out with, whatever app they were of; nil: their own.
  public var sendAs: String?
  /// Events a second; nil: as fast as the destination takes them.
  public var rate: Int?

  public init(destination: String, source: Source) {
    self.destination = destination
    self.source = source
  }

  /// What makes it the same wish when it is asked for again: everything but the rate.
  public var id: String {
    var members: [JSONValue.Member] = json.members ?? []
    members.removeAll { ["rate", "since", "until", "since_text", "until_text"].contains($0.key) }
    members.append(.init("since", JSONValue(sinceText ?? since?.description)))
    members.append(.init("until", JSONValue(untilText ?? until?.description)))
    // FNV-1a.
    let hash = JSONValue.object(members).utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }

  var selection: EventSelection {
    EventSelection(apps: Set(apps), names: names, since: since, until: until)
  }

  /// The dead letters that are meant.
  ///
  /// - Parameter begun: when the replay was begun: what is given up after that is not sent once more by it.
  func letters(begun: Timestamp) -> DeadLetterFilter {
    DeadLetterFilter(
      destination: destination, app: apps.first, code: code, since: since, until: min(until ?? begun, begun))
  }

  /// As it is kept, and shown.
  public var json: JSONValue {
    let from: JSONValue =
      switch source {
      case .log: "log"
      case .archive(let directory): ["archive": .string(directory)]
      case .deadLetters: "dead_letters"
      }
    return .object([
      .init("to", .string(destination)), .init("from", from), .init("apps", .array(apps.map(JSONValue.string))),
      .init("names", .array(names.map(JSONValue.string))), .init("code", JSONValue(code)),
      .init("since", Self.moment(since)), .init("until", Self.moment(until)),
      .init("since_text", JSONValue(sinceText)), .init("until_text", JSONValue(untilText)),
      .init("send_as", JSONValue(sendAs)), .init("rate", rate.map { JSONValue($0) } ?? .null),
    ])
  }

  private static func moment(_ moment: Timestamp?) -> JSONValue { moment.map { JSONValue($0.milliseconds) } ?? .null }

  /// Nil when the value is none.
  init?(_ json: JSONValue) {
    guard let destination = json["to"]?.string, let apps = json["apps"]?.array, let names = json["names"]?.array else {
      return nil
    }
    self.destination = destination
    switch json["from"] {
    case "log": source = .log
    case "dead_letters": source = .deadLetters
    case let other:
      guard let directory = other?["archive"]?.string else { return nil }
      source = .archive(directory)
    }
    self.apps = apps.compactMap(\.string)
    self.names = names.compactMap(\.string)
    code = json["code"]?.string
    since = json["since"]?.integer().map(Timestamp.init(milliseconds:))
    until = json["until"]?.integer().map(Timestamp.init(milliseconds:))
    sinceText = json["since_text"]?.string
    untilText = json["until_text"]?.string
    sendAs = json["send_as"]?.string
    rate = json["rate"]?.integer()
  }
}
