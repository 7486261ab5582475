/// Why past events can't be sent again, in words for whoever asked: what, and what to do.
public struct ReplayError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Kind: Sendable {
    /// What was asked for makes no sense.
    case invalid
    /// There is no such thing.
    case notFound
    /// Something else is under way.
    case conflict
    /// The disk, or what is on it.
    case failed
  }

  public let kind: Kind
  public let description: String

  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
