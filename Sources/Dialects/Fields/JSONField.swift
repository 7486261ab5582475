import CSimdjson
import EventsAPI

/// A member's value as it stands in a body that is known to be JSON.
struct JSONField {
  let token: event_token
  /// The opening quote of its key, from the body's first byte.
  let keyBegin: Int
  private let body: UnsafeRawPointer

  init(_ field: json_field, in body: UnsafeRawPointer) {
    token = field.value
    keyBegin = Int(field.key_begin)
    self.body = body
  }

  /// What stands in place of the value when it isn't there.
  var isAbsent: Bool { isKind(json_absent) }
  var isNull: Bool { isKind(json_null) }
  var isString: Bool { isKind(json_string) }
  var isObject: Bool { isKind(json_object) }

  private func isKind(_ kind: some BinaryInteger) -> Bool { Int(token.kind) == Int(kind) }

  /// Where the value stands, quotes included.
  var range: Range<Int> { Int(token.begin)..<Int(token.end) }

  /// Whether it is a string of so many characters.
  func isString(of lengths: ClosedRange<Int>) -> Bool {
    guard isString else { return false }
    let bytes = range.count - 2
    // (No character takes more than 12 bytes, as two escapes, and none less than one.)
    guard bytes >= lengths.lowerBound, bytes <= lengths.upperBound * 12 else { return false }
    return lengths.contains(json_text_scalars(body + range.lowerBound + 1, bytes))
  }

  /// A string's unescaped bytes; nil when it is none.
  func withBytes<Result>(_ use: (UnsafeRawBufferPointer?) -> Result) -> Result {
    guard isString else { return use(nil) }
    let content = UnsafeRawBufferPointer(start: body + range.lowerBound + 1, count: range.count - 2)
    guard token.is_escaped else { return use(content) }
    return withUnsafeTemporaryAllocation(byteCount: max(1, content.count), alignment: 8) { buffer in
      // (Unescaped it is never longer.)
      let count = json_text_unescape(
        content.baseAddress, content.count, json_surrogates_kept, buffer.baseAddress, buffer.count)
      return use(UnsafeRawBufferPointer(rebasing: buffer[..<min(count, buffer.count)]))
    }
  }

  /// A string's text; nil when it is none. A lone surrogate shows as U+FFFD.
  var text: String? { withBytes { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } } }

  /// The hash by which persons are known; 0 when it is no string.
  var hash: UInt64 { withBytes { bytes in bytes.map { event_hash($0.baseAddress, $0.count) } ?? 0 } }

  /// What the log's index has of an id; zeros when it is no string.
  var id: (high: UInt64, low: UInt64) {
    withBytes { bytes in bytes.map { EventIDText.numbers(ofAny: $0) } ?? (0, 0) }
  }
}
