/// A lane's requests that have no answer yet, with the installs whose events they hold: no install has events in two.
struct UnderWay: Sendable, Equatable {
  private(set) var requests = 0
  private(set) var events = 0
  /// A request is under way of which the installs are not known; nothing may go beside it.
  private(set) var hasUnknown = false
  private var installs: [UInt64: Int] = [:]

  func holds(_ install: UInt64) -> Bool { !installs.isEmpty && installs[install] != nil }

  /// - Parameter installs: nil: they aren't known.
  mutating func began(_ events: Int, _ installs: [UInt64: Int]?) {
    requests += 1
    self.events += events
    if let installs {
      for install in installs.keys { self.installs[install, default: 0] += 1 }
    } else {
      hasUnknown = true
    }
  }

  mutating func ended(_ events: Int, _ installs: [UInt64: Int]?) {
    requests -= 1
    self.events -= events
    guard let installs else {
      hasUnknown = false
      return
    }
    for install in installs.keys {
      guard let left = self.installs[install] else { continue }
      self.installs[install] = left > 1 ? left - 1 : nil
    }
  }
}
