/// What a file of events is written as.
enum InputShape: Equatable {
  /// One event a line.
  case lines
  /// A request's body: `{"events":[…]}`.
  case batch
  /// One event by itself over several lines.
  case event
  /// A list without the object around it, which the API doesn't take.
  case array

  /// Told by the first bytes: by the first object's keys, and by whether a line ends within it.
  init(head: [UInt8]) {
    var scan = Scan(bytes: head)
    self = scan.shape()
  }

  private struct Scan {
    let bytes: [UInt8]
    var at = 0

    mutating func shape() -> InputShape {
      if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
      skipSpaces()
      guard at < bytes.count else { return .lines }
      if bytes[at] == UInt8(ascii: "[") { return .array }
      guard bytes[at] == UInt8(ascii: "{") else { return .lines }
      var depth = 0
      var hasLineBreak = false
      /// At the object's own level, before a key.
      var expectsKey = false
      while at < bytes.count {
        let byte = bytes[at]
        switch byte {
        case UInt8(ascii: "\""):
          guard let text = string() else { return .lines }
          if depth == 1, expectsKey, text.elementsEqual("events".utf8), opensList() { return .batch }
          expectsKey = false
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: "\n"): hasLineBreak = true
        default: break
        }
        expectsKey =
          (byte == UInt8(ascii: "{") || byte == UInt8(ascii: ",")) && depth == 1
          || (expectsKey && (byte == 0x20 || (0x09...0x0D).contains(byte)))
        at += 1
        if depth == 0 { return hasLineBreak ? .event : .lines }
      }
      return hasLineBreak ? .event : .lines
    }

    private mutating func skipSpaces() {
      while at < bytes.count, bytes[at] == 0x20 || (0x09...0x0D).contains(bytes[at]) { at += 1 }
    }

    /// The text of a string, without unescaping it, and the place after it; nil when a line ends in it or it has no end.
    private mutating func string() -> ArraySlice<UInt8>? {
      let begin = at + 1
      at = begin
      while at < bytes.count {
        switch bytes[at] {
        case UInt8(ascii: "\""):
          at += 1
          return bytes[begin..<at - 1]
        case UInt8(ascii: "\\"): at += 2
        case UInt8(ascii: "\n"): return nil
        default: at += 1
        }
      }
      return nil
    }

    /// Whether `: [` follows. Stays where it is.
    private mutating func opensList() -> Bool {
      let here = at
      defer { at = here }
      skipSpaces()
      guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { return false }
      at += 1
      skipSpaces()
      return at < bytes.count && bytes[at] == UInt8(ascii: "[")
    }
  }
}
