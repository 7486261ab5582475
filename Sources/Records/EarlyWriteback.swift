import CPlatform

/// Has the system write a file that is appended to while it grows, a piece at a time.
///
/// A sync that finds megabytes to write keeps the disk to itself for milliseconds, and whoever else waits for the disk, the
/// log with its senders among them, waits for those. Nothing is durable by this: a sync is still needed, and then short.
public struct EarlyWriteback: Sendable {
  /// Bytes of a piece.
  public static let pieceBytes = 128 * 1024
  private static let pageBytes = 4096
  /// Up to here the system was told to write.
  private var begun: Int

  /// - Parameter length: bytes of the file that are synced.
  public init(from length: Int) { begun = length }

  /// The file has so many bytes now: more than before, or less.
  public mutating func grew(to length: Int, descriptor: Int32) {
    if begun > length { begun = length }
    guard length - begun >= Self.pieceBytes else { return }
    // The last page will still change.
    let end = length / Self.pageBytes * Self.pageBytes
    platform_begin_writing(descriptor, Int64(begun), Int64(end - begun))
    begun = end
  }
}
