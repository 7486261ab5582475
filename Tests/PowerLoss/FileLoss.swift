import TestSupport

/// What a cut leaves of one file's contents.
struct FileLoss {
  let cut: PowerCut
  let losesWholeSectors: Bool
  var sums = CutSums()

  init(_ cut: PowerCut, losesWholeSectors: Bool) {
    self.cut = cut
    self.losesWholeSectors = losesWholeSectors
  }

  mutating func content(of node: FileNode, _ random: inout SeededGenerator) -> [UInt8] {
    guard !node.pending.isEmpty else { return node.durable }
    let sizes = node.pending.reduce(into: [node.durable.count]) { $0.append($1.change.size(after: $0.last ?? 0)) }
    let size = pick(sizes.count, &random).map { sizes[$0] } ?? sizes[random.below(sizes.count)]
    if size != sizes.last { sums.sizesLost += 1 }
    var content = node.durable
    FileChange.resize(size).apply(to: &content)
    for (sector, changes) in touched(node, sizes) {
      let start = sector * PowerCut.sector
      guard start < size else { continue }
      let end = min(start + PowerCut.sector, size)
      let bytes = self.sector(start..<start + PowerCut.sector, node, changes, &random)
      content.replaceSubrange(start..<end, with: bytes[..<(end - start)])
    }
    return content
  }

  /// Which state of several it is, from the oldest; nil: any.
  private func pick(_ states: Int, _ random: inout SeededGenerator) -> Int? {
    if random.chance(cut.kept) { return states - 1 }
    return random.chance(cut.torn) ? nil : 0
  }

  /// The sectors that pending changes touch, in order, each with the changes.
  private func touched(_ node: FileNode, _ sizes: [Int]) -> [(sector: Int, changes: [Int])] {
    var found: [Int: [Int]] = [:]
    for (at, pending) in node.pending.enumerated() {
      let range = pending.change.range(in: sizes.max() ?? 0)
      guard !range.isEmpty else { continue }
      for sector in range.lowerBound / PowerCut.sector...(range.upperBound - 1) / PowerCut.sector {
        found[sector, default: []].append(at)
      }
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// A sector's bytes: of some moment, torn between two, or garbage.
  private mutating func sector(
    _ range: Range<Int>, _ node: FileNode, _ changes: [Int], _ random: inout SeededGenerator
  ) -> [UInt8] {
    var states = [[UInt8](repeating: 0, count: range.count)]
    let old = node.durable[min(range.lowerBound, node.durable.count)..<min(range.upperBound, node.durable.count)]
    states[0].replaceSubrange(..<old.count, with: old)
    for change in changes {
      var next = states[states.count - 1]
      node.pending[change].change.apply(to: &next, at: range.lowerBound)
      states.append(next)
    }
    var bytes = states[states.count - 1]
    if random.chance(cut.garbage) {
      sums.sectorsGarbage += 1
      let written = losesWholeSectors ? range : reach(range, node, changes)
      for at in written { bytes[at - range.lowerBound] = UInt8(truncatingIfNeeded: random.next()) }
    } else if let state = pick(states.count, &random) {
      bytes = states[state]
      if state == 0 { sums.sectorsLost += 1 } else { sums.sectorsKept += 1 }
    } else {
      // The first bytes are of one moment, the rest of the one before.
      let state = 1 + random.below(states.count - 1)
      let (old, new) = (states[state - 1], states[state])
      let differing = old.indices.filter { old[$0] != new[$0] }
      let at = differing.isEmpty ? 0 : differing[random.below(differing.count)]
      bytes = Array(new[..<at] + old[at...])
      sums.sectorsTorn += 1
    }
    return bytes
  }

  /// The part of a sector that was being written, or is behind the safe end: there stale bytes may be.
  private func reach(_ range: Range<Int>, _ node: FileNode, _ changes: [Int]) -> Range<Int> {
    let ranges = changes.map { node.pending[$0].change.range(in: range.upperBound).clamped(to: range) }
    let from = ranges.filter { !$0.isEmpty }.map(\.lowerBound).min() ?? range.upperBound
    return min(from, max(range.lowerBound, min(node.durable.count, range.upperBound)))..<range.upperBound
  }
}
