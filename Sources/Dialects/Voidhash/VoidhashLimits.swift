/// The protocol's numbers. Those that its document doesn't give are ours.
enum VoidhashLimits {
  /// Bytes of a body, after content decoding; an event may fill it. Ours.
  static let bodyBytesMax = 1 << 20
  static let batchEventsMax = 100
  /// Characters of a text that an event must have. The upper end is ours: it keeps what is no id from being one.
  static let textLengths = 1...256
  /// A wait that the upstream asks for is cut to this.
  static let retryAfterMax: Duration = .seconds(30)
}
