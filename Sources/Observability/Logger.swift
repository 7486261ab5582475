import Clocks
import Glibc
import JSON
import Synchronization

public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case debug, info, warning, error

  public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}

public enum LogFormat: String, Sendable, CaseIterable {
  case text, json
}

/// A value in a log line. Secrets, keys, addresses and event contents must never be made into one.
public enum LogValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringInterpolation
{
  case text(String)
  case integer(Int)
  case seconds(Double)

  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int) { self = .integer(value) }
}

/// Writes one line per fact to standard error, as text or as JSON.
///
/// A message is a fixed sentence; what varies stands in the fields. Of one message with the same `about` at most
/// ``burst`` lines come out in ``window``; the next line after that says how many were held back.
public final class Logger: Sendable {
  /// Lines of one message let through in one window.
  public static let burst = 5
  public static let window: Duration = .seconds(10)
  /// How many different messages are counted at once; past that, the counts begin anew.
  static let messagesMax = 1024

  private struct Count {
    var since: ContinuousClock.Instant
    var written = 0
    var heldBack = 0
  }

  private struct Style {
    var level: LogLevel
    var format: LogFormat
  }

  private let style: Mutex<Style>
  private let clock: WallClock
  private let write: @Sendable ([UInt8]) -> Void
  private let counts = Mutex<[String: Count]>([:])

  public init(
    level: LogLevel = .info, format: LogFormat = .text, clock: WallClock = .system,
    write: @escaping @Sendable ([UInt8]) -> Void = Logger.writeToStandardError
  ) {
    style = Mutex(Style(level: level, format: format))
    self.clock = clock
    self.write = write
  }

  /// Writes lines of another level, or in another form, from now on.
  public func change(level: LogLevel, format: LogFormat) { style.withLock { $0 = Style(level: level, format: format) } }

  /// A logger that writes nothing.
  public static let silent = Logger(level: .error, write: { _ in })

  public func debug(_ message: StaticString, about: String = "", _ fields: KeyValuePairs<String, LogValue> = [:]) {
    log(.debug, message, about: about, fields)
  }

  public func info(_ message: StaticString, about: String = "", _ fields: KeyValuePairs<String, LogValue> = [:]) {
    log(.info, message, about: about, fields)
  }

  public func warning(_ message: StaticString, about: String = "", _ fields: KeyValuePairs<String, LogValue> = [:]) {
    log(.warning, message, about: about, fields)
  }

  public func error(_ message: StaticString, about: String = "", _ fields: KeyValuePairs<String, LogValue> = [:]) {
    log(.error, message, about: about, fields)
  }

  /// An error of which each line names something else that is gone: up to `burst` of them come out in a window.
  public func error(
    _ message: StaticString, about: String, burst: Int, _ fields: KeyValuePairs<String, LogValue>
  ) {
    log(.error, message, about: about, burst: burst, fields)
  }

  /// Writes a line, unless the level is below the logger's or the same was just said too often.
  ///
  /// - Parameters:
  ///   - about: what the line is about (a destination, an app, a file); said as field `about` when not empty.
  ///   - burst: how many of its lines come out in one window.
  public func log(
    _ level: LogLevel, _ message: StaticString, about: String = "", burst: Int = Logger.burst,
    _ fields: KeyValuePairs<String, LogValue> = [:]
  ) {
    let style = style.withLock { $0 }
    guard level >= style.level, let heldBack = admit("\(message)\u{0}\(about)", burst: burst) else { return }
    var all: [(String, LogValue)] = about.isEmpty ? [] : [("about", .text(about))]
    all += fields.map { ($0.key, $0.value) }
    if heldBack > 0 { all.append(("repeated", .integer(heldBack))) }
    switch style.format {
    case .text: write(textLine(level, "\(message)", all))
    case .json: write(jsonLine(level, "\(message)", all))
    }
  }

  /// How many lines were held back before this one; nil when this one is held back too.
  private func admit(_ key: String, burst: Int) -> Int? {
    let now = ContinuousClock.now
    return counts.withLock { counts in
      if counts.count >= Self.messagesMax, counts[key] == nil { counts.removeAll(keepingCapacity: true) }
      var count = counts[key] ?? Count(since: now)
      let heldBack = count.heldBack
      if now - count.since >= Self.window { count = Count(since: now) }
      defer { counts[key] = count }
      guard count.written < burst else {
        count.heldBack += 1
        return nil
      }
      count.written += 1
      return count.heldBack == 0 && now == count.since ? heldBack : 0
    }
  }

  private func textLine(_ level: LogLevel, _ message: String, _ fields: [(String, LogValue)]) -> [UInt8] {
    var line = Array("\(clock.now) \(level.rawValue.uppercased()) \(message)".utf8)
    for (key, value) in fields {
      line += " \(key)=".utf8
      switch value {
      case .integer(let number): line += "\(number)".utf8
      case .seconds(let number): line += "\(JSONValue(number))s".utf8
      case .text(let text):
        if text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }),
          !text.isEmpty
        {
          line += text.utf8
        } else {
          JSONText.appendString(text, to: &line)
        }
      }
    }
    line.append(UInt8(ascii: "\n"))
    return line
  }

  private func jsonLine(_ level: LogLevel, _ message: String, _ fields: [(String, LogValue)]) -> [UInt8] {
    var members: [JSONValue.Member] = [
      .init("time", .string(clock.now.description)), .init("level", .string(level.rawValue)),
      .init("message", .string(message)),
    ]
    for (key, value) in fields {
      switch value {
      case .integer(let number): members.append(.init(key, JSONValue(number)))
      case .seconds(let number): members.append(.init(key, JSONValue(number)))
      case .text(let text): members.append(.init(key, .string(text)))
      }
    }
    return JSONValue.object(members).utf8 + [UInt8(ascii: "\n")]
  }

  /// Writes a whole line with one call, so that lines of several threads don't mix.
  @Sendable public static func writeToStandardError(_ line: [UInt8]) {
    line.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
