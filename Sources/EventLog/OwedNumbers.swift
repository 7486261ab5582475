/// Which events of some lines a destination is owed, so that they will be handed out: what isn't can't be written anew.
public struct OwedNumbers: Sendable, Equatable {
  /// Numbers of new events, in ascending order, each once.
  public var new: [UInt64]
  /// Numbers in the queue of events that are sent again, in ascending order.
  public var again: [UInt64] = []
  /// The numbers, as they stand in the lines, that are none of a new event: each that stands there a second time, too.
  public private(set) var others: [UInt64]

  public init(new: [UInt64], among numbers: [UInt64]) {
    self.new = new
    var left = Set(new)
    others = numbers.filter { left.remove($0) == nil }
  }

  /// Whether all of them will be handed out.
  public var isAll: Bool { again.count == others.count }
}
