/// How long another side asks to be left alone.
public struct RetryAfter: Sendable, Equatable {
  /// From the answer on; never negative, at most ``delayMax``.
  public var delay: Duration
  /// The other side asked for more: worth a line in the log, since its clock may be wrong.
  public var wasCut: Bool

  public static let delayMax: Duration = .seconds(3600)

  public init(delay: Duration, wasCut: Bool = false) {
    self.delay = delay
    self.wasCut = wasCut
  }

  /// Reads the `Retry-After` headers of an answer: seconds (a fraction is rounded up) or an HTTP date (the past is 0).
  /// Of several the longest counts; what can't be read counts for nothing.
  public static func parse(headerValues: [String], now: Timestamp) -> RetryAfter? {
    let delays = headerValues.compactMap { seconds(in: $0) ?? delay(untilDateIn: $0, now: now) }
    return delays.max().map { RetryAfter(delay: min($0, delayMax), wasCut: $0 > delayMax) }
  }

  /// `120` or `1.5`; a number of any length is understood.
  private static func seconds(in value: String) -> Duration? {
    let text = trimmed(value)
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isDigit) }), let whole = parts.first else { return nil }
    let tooMany = delayMax.components.seconds + 1
    var seconds: Int64 = 0
    for digit in whole { seconds = min(seconds * 10 + Int64(digit - UInt8(ascii: "0")), tooMany) }
    let hasFraction = parts.count == 2 && parts[1].contains { $0 != UInt8(ascii: "0") }
    return .seconds(seconds + (hasFraction ? 1 : 0))
  }

  private static func delay(untilDateIn value: String, now: Timestamp) -> Duration? {
    HTTPDate.parse(Array(trimmed(value)), now: now).map { max($0 - now, .zero) }
  }

  private static func trimmed(_ value: String) -> ArraySlice<UInt8> {
    var text = Array(value.utf8)[...]
    while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
