/// What checking an archive found.
public struct ArchiveReport: Sendable, Equatable {
  public var directory: String
  /// Nil when not even the first line can be read.
  public var begin: ManifestBegin?
  /// Lines of the manifest that are right.
  public var entries = 0
  /// The hash of the last of them.
  public var head = Digest.zero
  /// What was expected to be the head, or a line before it.
  public var noted: NotedHead?
  /// Files that are there, as the manifest has them.
  public var extent = ArchiveReader.Extent()
  /// Files whose every byte was checked.
  public var checkedFiles = 0
  /// Numbers between the first and the last event that no event in the archive has.
  public var missingNumbers: UInt64 = 0
  /// The first few ranges of them.
  public var gaps: [ClosedRange<UInt64>] = []
  /// Files that are written to, and not checked.
  public var openFiles: [String] = []
  /// What is right, and worth knowing.
  public var notes: [String] = []
  /// What is wrong: the first of it first, and no more than ``faultsMax``.
  public var faults: [ArchiveFault] = []
  public var faultCount = 0

  public static let faultsMax = 100
  public static let gapsMax = 10

  public var isWhole: Bool { faultCount == 0 }

  init(directory: String) { self.directory = directory }

  mutating func add(_ fault: ArchiveFault) {
    faultCount += 1
    if faults.count < Self.faultsMax { faults.append(fault) }
  }

  mutating func addGap(_ gap: ClosedRange<UInt64>, erased: UInt64 = 0) {
    missingNumbers += gap.upperBound - gap.lowerBound + 1 - erased
    if gaps.count < Self.gapsMax { gaps.append(gap) }
  }
}
