/// One thing that is wrong with a configuration: where, what, and what would be right.
public struct ConfigurationFault: Error, Sendable, Equatable, CustomStringConvertible {
  public var file: String
  /// From 1; 0 when the fault is the whole file's.
  public var line: Int
  /// The key's path, `upstream.retry.initial`, `sinks[0].path`; empty when the fault is the file's.
  public var key: String
  /// What is wrong and what would be right. Never a secret's value.
  public var message: String

  public init(file: String, line: Int, key: String, message: String) {
    self.file = file
    self.line = line
    self.key = key
    self.message = message
  }

  /// `relay.yaml:12: upstream.timeout: …`
  public var description: String {
    (line > 0 ? "\(file):\(line): " : "\(file): ") + (key.isEmpty ? "" : "\(key): ") + message
  }
}
