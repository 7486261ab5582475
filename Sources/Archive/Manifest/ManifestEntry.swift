import Clocks

/// One line of a manifest. Each holds the hash of the one before, so that none can be changed, taken out or put in unseen.
public struct ManifestEntry: Sendable, Equatable {
  public enum Content: Sendable, Equatable {
    case begin(ManifestBegin)
    case file(ManifestFile)
    case removed(ManifestRemoval)
    case erased(ManifestErasure)
  }

  /// The line's number, from 1.
  public var number: Int
  /// When the line was written.
  public var at: Timestamp
  /// The hash of the line before; zeros in the first.
  public var previous: Digest
  public var content: Content

  public init(number: Int, at: Timestamp, previous: Digest, content: Content) {
    self.number = number
    self.at = at
    self.previous = previous
    self.content = content
  }
}
