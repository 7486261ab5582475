/// The protocol's numbers. Those that the vendor's documents don't tell are the relay's own.
enum DatalyrLimits {
  /// Bytes of one event; also of a body that is one.
  static let eventBytesMax = 65_536
  /// Bytes of a web batch's body.
  static let batchBytesMax = 1_048_576
  static let batchEventsMax = 100
  /// Characters of an event's name.
  static let nameLengths = 1...100
  /// Characters of an id: of events, persons and users.
  static let idLengths = 1...256
  /// What a wait may be at most that the upstream asks for.
  static let askedWaitMax: Duration = .seconds(30)
}
