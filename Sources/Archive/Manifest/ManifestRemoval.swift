/// A file that was removed because it was old. Files are removed in their order, none left out.
public struct ManifestRemoval: Sendable, Equatable {
  public static let retention = "retention"

  public var file: Int
  public var name: ArchiveFileName
  public var reason: String

  public init(file: Int, name: ArchiveFileName, reason: String = Self.retention) {
    self.file = file
    self.name = name
    self.reason = reason
  }
}
