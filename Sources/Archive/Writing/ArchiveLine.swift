import Clocks

/// What is known of a line on its way into an archive.
public struct ArchiveLine: Sendable {
  /// Bytes of the line with its line feed.
  public var length: Int
  public var sequence: UInt64
  public var receivedAt: Timestamp

  public init(length: Int, sequence: UInt64, receivedAt: Timestamp) {
    self.length = length
    self.sequence = sequence
    self.receivedAt = receivedAt
  }
}
