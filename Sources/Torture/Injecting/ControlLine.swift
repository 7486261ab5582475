/// A line of the parent to the tortured relay: what to do to its disk or clock from now on.
enum ControlLine: Sendable, Equatable {
  case full(Bool)
  /// Milliseconds besides; 0: as fast as it is.
  case slowSync(Int)
  case failSyncs(FaultOrders.Layer, Int)
  case failReads(FaultOrders.Layer, Int)
  case shortWrites(FaultOrders.Layer, Int)
  /// Milliseconds by which the wall clock is ahead; negative: behind.
  case clock(Int64)
  /// No more faults, but for the clock.
  case calm

  var text: String {
    switch self {
    case .full(let isFull): "full \(isFull ? 1 : 0)"
    case .slowSync(let delay): "slow-sync \(delay)"
    case .failSyncs(let layer, let count): "fail-syncs \(layer.rawValue) \(count)"
    case .failReads(let layer, let count): "fail-reads \(layer.rawValue) \(count)"
    case .shortWrites(let layer, let count): "short-writes \(layer.rawValue) \(count)"
    case .clock(let offset): "clock \(offset)"
    case .calm: "calm"
    }
  }

  /// Nil for a line that is none of these.
  init?(_ text: String) {
    let words = text.split(separator: " ").map(String.init)
    let number = words.last.flatMap { Int64($0) }.map { Int(clamping: $0) }
    let layer = words.count == 3 ? FaultOrders.Layer(rawValue: words[1]) : nil
    switch (words.first, words.count, number, layer) {
    case ("calm", 1, _, _): self = .calm
    case ("full", 2, let number?, _): self = .full(number != 0)
    case ("slow-sync", 2, let number?, _) where number >= 0: self = .slowSync(number)
    case ("clock", 2, let number?, _): self = .clock(Int64(number))
    case ("fail-syncs", 3, let number?, let layer?): self = .failSyncs(layer, number)
    case ("fail-reads", 3, let number?, let layer?): self = .failReads(layer, number)
    case ("short-writes", 3, let number?, let layer?): self = .shortWrites(layer, number)
    default: return nil
    }
  }

  func apply(to faults: FaultSwitch) {
    switch self {
    case .full(let isFull): faults.order { $0.isFull = isFull }
    case .slowSync(let delay): faults.order { $0.syncDelay = .milliseconds(delay) }
    case .failSyncs(let layer, let count): faults.order { $0.failingSyncs[layer] = count }
    case .failReads(let layer, let count): faults.order { $0.failingReads[layer] = count }
    case .shortWrites(let layer, let count): faults.order { $0.shortWrites[layer] = count }
    case .clock(let offset): faults.setClock(offset)
    case .calm: faults.order { $0 = FaultOrders() }
    }
  }
}
