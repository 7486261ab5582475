/// What someone probably meant to write.
public enum Spelling {
  /// The candidate nearest to a word, if one is near enough to have been meant: at most a third of it is different.
  public static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    let word = word.lowercased()
    let near = candidates.lazy.map { (name: $0, distance: distance(word, $0.lowercased())) }
    guard let best = near.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, word.count / 3) ? best.name : nil
  }

  /// How many characters must be inserted, removed, changed or swapped with their neighbour to get from one to the other.
  static func distance(_ one: String, _ other: String) -> Int {
    // Longer words are no names of ours; the table stays small.
    let (a, b) = (Array(one.unicodeScalars.prefix(64)), Array(other.unicodeScalars.prefix(64)))
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in 1...a.count {
      var row = [i] + [Int](repeating: 0, count: b.count)
      for j in 1...b.count {
        row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], beforeLast[j - 2] + 1) }
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
