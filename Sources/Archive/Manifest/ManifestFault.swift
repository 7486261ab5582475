/// What is wrong with a line of a manifest.
public struct ManifestFault: Error, Sendable, Equatable {
  /// From 1.
  public var line: Int
  /// A sentence's end: what differs.
  public var detail: String

  init(line: Int, _ detail: String) {
    self.line = line
    self.detail = detail
  }
}
