import TestSupport

/// How a disk loses what wasn't synced.
///
/// All that a returned sync promised is there. Of everything else each piece is there or not by itself: each sector of
/// 512 bytes of each file has the contents it had at any time since the last sync, or is torn, or garbage; a file's size is
/// one that it had since then; what it gained without data reads as zeros or as stale bytes.
public struct PowerCut: Sendable {
  /// How names are lost.
  public enum Names: String, Sendable, CaseIterable {
    /// In the order in which they were changed, from some change on, as of a file system with a journal.
    case inOrder
    /// Each change by itself.
    case anySubset
  }

  public static let sector = 512

  public var names: Names
  /// So many times in a hundred an unsynced sector, size or change of a name is as new as can be.
  public var kept: Int
  /// So many times in a hundred a sector is at some state in between, or torn.
  public var torn: Int
  /// So many times in a hundred a sector that was being written holds garbage.
  public var garbage: Int

  public init(names: Names, kept: Int, torn: Int, garbage: Int) {
    self.names = names
    self.kept = kept
    self.torn = torn
    self.garbage = garbage
  }

  /// Draws a cut: all lost, all kept and everything between come about alike.
  public init(_ random: inout SeededGenerator) {
    names = random.chance(50) ? .inOrder : .anySubset
    kept = [0, 10, 50, 90, 100][random.below(5)]
    torn = [0, 0, 10, 40][random.below(4)]
    garbage = [0, 0, 0, 5][random.below(4)]
  }

  /// Cuts the power where the history stands.
  /// - Parameter losesWholeSectors: whether garbage may take the whole of a sector in a file of this path, also bytes in it
  ///   that weren't being written.
  public func image(
    of history: DiskHistory, _ random: inout SeededGenerator, losesWholeSectors: (String) -> Bool
  ) -> (image: DiskImage, sums: CutSums) {
    var sums = CutSums()
    let names = names(of: history, &random, &sums)
    // The tree first, since what may be lost depends on the path.
    var image = DiskImage(root: history.nodes[DiskHistory.root].identity, names: names, nodes: history.nodes) { _ in []
    }
    let nodes = Dictionary(history.nodes.indices.map { (history.nodes[$0].identity, $0) }) { $1 }
    for at in image.entries.indices where image.entries[at].content != nil {
      guard let node = nodes[image.entries[at].identity] else { continue }
      var loss = FileLoss(self, losesWholeSectors: losesWholeSectors(image.entries[at].path))
      image.entries[at].content = loss.content(of: history.nodes[node], &random)
      sums.add(loss.sums)
    }
    return (image, sums)
  }

  private func names(of history: DiskHistory, _ random: inout SeededGenerator, _ sums: inout CutSums) -> [Name: Int] {
    var names = history.durableNames
    let pending = history.pendingNames
    var least = 0
    if self.names == .inOrder { least = pending.prefix { $0.serial <= history.syncedNames }.count }
    let until =
      kept == 100 ? pending.count : kept == 0 ? least : least + random.below(pending.count - least + 1)
    for (at, change) in pending.enumerated() {
      let isThere = self.names == .inOrder ? at < until : random.chance(kept)
      if isThere { change.apply(to: &names) }
      if isThere { sums.namesKept += 1 } else { sums.namesLost += 1 }
    }
    return names
  }
}
