/// One sink's settings, by the keys that users write, for whichever type reads them.
public struct SinkSettings: Sendable, Equatable {
  public enum Value: Sendable, Equatable {
    case text(String)
    case bytes(Int)
    case duration(Duration)
    case number(Int)
    case flag(Bool)
    case list([String])
  }

  /// Unique among the sinks; the name of the destination.
  public var name: String
  public var type: String
  /// By path: `path`, `rotate.size`. A key that is not there has no value.
  public var options: [String: Value]

  public init(name: String, type: String, options: [String: Value] = [:]) {
    self.name = name
    self.type = type
    self.options = options
  }

  /// A text that must be there.
  public func text(_ key: String) throws(SinkFault) -> String {
    guard case .text(let text) = options[key] else {
      throw SinkFault(sink: name, key: key, message: "a text is missing")
    }
    return text
  }

  /// A size in bytes; nil when the key isn't there.
  public func bytes(_ key: String) throws(SinkFault) -> Int? {
    guard let value = options[key] else { return nil }
    guard case .bytes(let bytes) = value else { throw SinkFault(sink: name, key: key, message: "it must be a size") }
    return bytes
  }

  /// A duration; nil when the key isn't there.
  public func duration(_ key: String) throws(SinkFault) -> Duration? {
    guard let value = options[key] else { return nil }
    guard case .duration(let duration) = value else {
      throw SinkFault(sink: name, key: key, message: "it must be a duration")
    }
    return duration
  }
}

/// What is wrong with a sink's settings, and what would be right.
public struct SinkFault: Error, Sendable, Equatable, CustomStringConvertible {
  public var sink: String
  /// The key below the sink's.
  public var key: String
  public var message: String

  public init(sink: String, key: String, message: String) {
    self.sink = sink
    self.key = key
    self.message = message
  }

  public var description: String { "sink “\(sink)”: \(key): \(message)" }
}
