/// What a cut took, to see that it took something.
public struct CutSums: Sendable, Equatable, CustomStringConvertible {
  /// Sectors with unsynced writes: with their last contents, with older ones, torn in the middle, and garbage.
  public var sectorsKept = 0, sectorsLost = 0, sectorsTorn = 0, sectorsGarbage = 0
  /// Files whose size is an older one.
  public var sizesLost = 0
  /// Unsynced changes of names.
  public var namesKept = 0, namesLost = 0

  public init() {}

  public mutating func add(_ other: CutSums) {
    sectorsKept += other.sectorsKept
    sectorsLost += other.sectorsLost
    sectorsTorn += other.sectorsTorn
    sectorsGarbage += other.sectorsGarbage
    sizesLost += other.sizesLost
    namesKept += other.namesKept
    namesLost += other.namesLost
  }

  public var description: String {
    "unsynced sectors: \(sectorsKept) kept, \(sectorsLost) lost, \(sectorsTorn) torn, \(sectorsGarbage) garbage; "
      + "sizes lost: \(sizesLost); unsynced names: \(namesKept) kept, \(namesLost) lost"
  }
}
