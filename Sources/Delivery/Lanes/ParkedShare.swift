/// How many parked runs each lane may have, so that all of them together stay within ``ParkedEvents/runsMax``.
///
/// The lanes with the most give way first: those with fewer than the level read on.
enum ParkedShare {
  /// - Parameter runs: what each lane has parked.
  static func level(_ runs: [Int], all: Int = ParkedEvents.runsMax) -> Int {
    guard runs.reduce(0, +) > all else { return all }
    var (low, high) = (1, all)
    while low < high {
      let middle = (low + high + 1) / 2
      if runs.reduce(0, { $0 + min($1, middle) }) <= all { low = middle } else { high = middle - 1 }
    }
    return low
  }
}
