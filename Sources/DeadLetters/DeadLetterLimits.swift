/// How much of the dead letters is kept, and in files of what size.
public struct DeadLetterLimits: Sendable, Equatable {
  /// Bytes of all files.
  public var size: Int
  public var retention: Duration
  /// A file that has reached so many bytes is followed by a new one.
  public var fileSize: Int
  /// And so is an older one.
  public var fileAge: Duration

  public init(
    size: Int = 1 << 30, retention: Duration = .seconds(90 * 86_400), fileSize: Int = 16 << 20,
    fileAge: Duration = .seconds(86_400)
  ) {
    self.size = size
    self.retention = retention
    // The file at work is never removed, so that it must be a small part of the whole.
    self.fileSize = min(fileSize, max(size / 4, 1))
    self.fileAge = min(fileAge, retention)
  }
}
