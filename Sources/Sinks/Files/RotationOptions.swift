import Configuration

/// `rotate`: when a sink's file ends.
public struct RotationOptions: Sendable, Equatable {
  /// Bytes after which a file ends; 0: no limit.
  public var size: Int
  /// How long a file's slot lasts; 0: no slots.
  public var every: Duration

  public init(size: Int, every: Duration) {
    self.size = size
    self.every = every
  }

  /// Takes what the section says; everything else stays.
  mutating func read(_ section: Section) {
    section.read("size", into: &size, .size(1 << 10...1 << 40))
    section.read("every", into: &every, .duration(.seconds(1) ... .seconds(31 * 86_400)))
    section.finish()
  }
}

extension ScalarFormat where Value == Duration {
  /// How long files are kept.
  static var retention: ScalarFormat { .duration(.seconds(60) ... .seconds(36_500 * 86_400)) }
}
