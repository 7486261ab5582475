/// What an upstream says it did with a batch it took.
public struct BatchReceipt: Sendable, Equatable {
  /// An event of the batch that the upstream didn't store, and its reason; texts are bounded.
  public struct RejectedEvent: Sendable, Equatable {
    /// Position among the events that were sent; always one of them.
    public var index: Int
    public var code: String
    public var message: String

    public init(index: Int, code: String, message: String) {
      self.index = index
      self.code = code
      self.message = message
    }
  }

  /// As the upstream counts them, duplicates and clamped ones included.
  public var accepted: Int
  /// Each index once, in rising order.
  public var rejected: [RejectedEvent]
  /// Positions of the events whose time the upstream replaced: each once, in rising order.
  public var clamped: [Int]
  /// False when the numbers can't be true for the batch that was sent: worth a line in the log. What of it makes sense
  /// is kept.
  public var countsAddUp: Bool
  /// Events of the batch that the upstream rejected without saying which: they count as delivered, and are told.
  public var unnamedRejections = 0

  public init(accepted: Int, rejected: [RejectedEvent] = [], clamped: [Int] = [], countsAddUp: Bool = true) {
    self.accepted = accepted
    self.rejected = rejected
    self.clamped = clamped
    self.countsAddUp = countsAddUp
  }
}
