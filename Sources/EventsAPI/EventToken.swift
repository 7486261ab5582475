import CSimdjson

/// What the scanner calls the kinds of JSON values.
enum JSONKind {
  static var absent: UInt16 { UInt16(truncatingIfNeeded: json_absent) }
  static var null: UInt16 { UInt16(truncatingIfNeeded: json_null) }
  static var string: UInt16 { UInt16(truncatingIfNeeded: json_string) }
  static var object: UInt16 { UInt16(truncatingIfNeeded: json_object) }
}

extension event_token {
  /// Bytes between a string's quotes.
  @inline(__always)
  var contentCount: Int { Int(end) - Int(begin) - 2 }

  /// The first byte after a string's opening quote.
  @inline(__always)
  func content(in body: UnsafeRawPointer) -> UnsafeRawPointer { body + Int(begin) + 1 }

  /// Gives the string's unescaped bytes; nil when they are more than `capacity`.
  @inline(never)
  func withUnescaped<Result>(
    in body: UnsafeRawPointer, capacity: Int, _ use: (UnsafeRawBufferPointer?) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { buffer in
      let count = json_text_unescape(
        content(in: body), contentCount, json_surrogates_kept, buffer.baseAddress, capacity)
      return use(count <= capacity ? UnsafeRawBufferPointer(rebasing: buffer[..<count]) : nil)
    }
  }
}
