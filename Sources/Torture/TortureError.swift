/// Why a run can't begin or go on, in a sentence: what was wanted, and where to look.
public struct TortureError: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}
