/// Everything that is wrong with a configuration, in the file's order.
public struct ConfigurationFaults: Error, Sendable, Equatable, CustomStringConvertible {
  /// At least one, sorted by line.
  public let all: [ConfigurationFault]

  public init(_ faults: [ConfigurationFault]) {
    all = Self.inFileOrder(faults)
  }

  /// Faults that are in the right order already.
  init(inOrder faults: [ConfigurationFault]) { all = faults }

  /// One fault a line.
  public var description: String { all.map(\.description).joined(separator: "\n") }

  /// Sorted by line; those of one line stay in the order in which they were found.
  static func inFileOrder(_ faults: [ConfigurationFault]) -> [ConfigurationFault] {
    faults.enumerated()
      .sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }
      .map(\.element)
  }
}
