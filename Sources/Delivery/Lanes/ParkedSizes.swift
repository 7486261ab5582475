/// How many installs have how many events parked: tells the most of them without looking at each install.
struct ParkedSizes: Sendable, Equatable {
  /// By the number of events. (Sizes that differ are few: a thousand of them are half a million events.)
  private var installs: [Int: Int] = [:]
  /// Events of the install with the most of them; 0 without any.
  private(set) var most = 0

  /// An install has another number of events; 0: it has none.
  mutating func change(from old: Int, to new: Int) {
    guard new != old else { return }
    if new > 0 { installs[new, default: 0] += 1 }
    if old > 0, let others = installs[old] { installs[old] = others > 1 ? others - 1 : nil }
    if new > most {
      most = new
    } else if old == most, installs[old] == nil {
      most = installs.keys.max() ?? 0
    }
  }
}
