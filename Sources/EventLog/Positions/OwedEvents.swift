import JSON

/// What a destination was owed of the log at one moment: what it will be sent without being sent anything again.
public struct OwedEvents: Sendable, Equatable {
  private let record: PositionRecord

  init(_ record: PositionRecord) { self.record = record }

  /// Whether an event was owed then, or came later.
  public func contains(app: String, _ sequence: UInt64) -> Bool {
    if sequence >= record.through { return true }
    return !record.marks(of: record.mode == .all ? "" : app).isSettled(sequence)
  }

  /// For a file that keeps it.
  public var json: JSONValue {
    var bare = PositionRecord(destination: record.destination, mode: record.mode, through: record.through)
    bare.lanes = record.lanes
    return bare.json
  }

  /// Nil when the value is none.
  public init?(_ json: JSONValue, destination: String) {
    guard let record = PositionRecord(json, destination: destination) else { return nil }
    self.record = record
  }
}

extension FileLog {
  /// A destination's own record, as last committed.
  public func attachment(of destination: String) -> JSONValue? {
    keeper.all.first { $0.destination == destination }?.attachment
  }

  /// What a destination is owed now; nil when it isn't known.
  public func owed(by destination: String) -> OwedEvents? {
    keeper.all.first { $0.destination == destination }.map { OwedEvents($0.snapshot().record) }
  }
}
