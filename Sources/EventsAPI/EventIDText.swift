/// An event's id as a user types it.
public enum EventIDText {
  /// The id's first eight bytes as a big-endian number, and the last eight, as the log's index has them; nil when the text
  /// is no UUID of 8-4-4-4-12 hex digits.
  public static func numbers(_ text: String) -> (high: UInt64, low: UInt64)? {
    let bytes = Array(text.utf8)
    guard bytes.count == EventID.textLength else { return nil }
    return bytes.withUnsafeBytes { EventID.parse($0.baseAddress!) }.map { ($0.high, $0.low) }
  }
}
