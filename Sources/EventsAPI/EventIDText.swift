import CSimdjson

/// An event's id as a user types it.
public enum EventIDText {
  /// The id's first eight bytes as a big-endian number, and the last eight, as the log's index has them; nil when the text
  /// is no UUID of 8-4-4-4-12 hex digits.
  public static func numbers(_ text: String) -> (high: UInt64, low: UInt64)? {
    var text = text
    return text.withUTF8 { uuid(UnsafeRawBufferPointer($0)) }
  }

  /// The same for protocols whose ids are any text: one that is no UUID stands in the log's index as a hash of 128 bits.
  public static func numbers(ofAny text: UnsafeRawBufferPointer) -> (high: UInt64, low: UInt64) {
    if let uuid = uuid(text) { return uuid }
    return withUnsafeTemporaryAllocation(byteCount: text.count + 1, alignment: 1) { salted in
      salted[0] = 1
      UnsafeMutableRawBufferPointer(rebasing: salted[1...]).copyMemory(from: text)
      return (event_hash(text.baseAddress, text.count), event_hash(salted.baseAddress, salted.count))
    }
  }

  public static func numbers(ofAny text: String) -> (high: UInt64, low: UInt64) {
    var text = text
    return text.withUTF8 { numbers(ofAny: UnsafeRawBufferPointer($0)) }
  }

  private static func uuid(_ text: UnsafeRawBufferPointer) -> (high: UInt64, low: UInt64)? {
    guard text.count == EventID.textLength, let base = text.baseAddress else { return nil }
    return EventID.parse(base).map { ($0.high, $0.low) }
  }
}
