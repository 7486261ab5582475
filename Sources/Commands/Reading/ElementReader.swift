import EventsAPI

/// Reads the elements of `events` in a body of any length, one after the other.
///
/// It finds where elements begin and end, by brackets and strings; whether an element is JSON is for others to say.
final class ElementReader {
  /// Longer elements are handed out without their bytes.
  static let elementBytesMax = EventsLimits.bodyBytesMax
  private static let chunk = 256 * 1024

  private enum Place { case beforeList, inList, afterList }

  private let input: InputFile
  private var bytes: [UInt8] = []
  private var at = 0
  private var offset = 0
  private var place = Place.beforeList

  init(_ input: InputFile) { self.input = input }

  /// The next element without white space around it; an empty one when it is over the limit. Nil at the end.
  func next() throws(CommandFailure) -> [UInt8]? {
    if place == .beforeList { try findList() }
    guard place == .inList else { return nil }
    var element: [UInt8] = []
    var length = 0
    var nesting = JSONNesting()
    while let byte = try peek() {
      if nesting.isOutside, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
        _ = try take()
        if byte == UInt8(ascii: "]") { place = .afterList }
        while let last = element.last, JSONNesting.isSpace(last) { element.removeLast() }
        if length == 0, byte == UInt8(ascii: "]") { return nil }
        guard length > 0 else { throw notJSON("has an empty element in \"events\"") }
        return length > Self.elementBytesMax ? [] : element
      }
      _ = try take()
      nesting.pass(byte)
      if length == 0, JSONNesting.isSpace(byte) { continue }
      length += 1
      if length <= Self.elementBytesMax { element.append(byte) }
    }
    throw notJSON("ends before its \"events\" do")
  }

  /// Goes on to the first element.
  private func findList() throws(CommandFailure) {
    var nesting = JSONNesting()
    while let byte = try take() {
      if nesting.depth == 1, nesting.key.elementsEqual("events".utf8), byte == UInt8(ascii: "[") {
        place = .inList
        return
      }
      nesting.pass(byte)
    }
    throw notJSON("has no list \"events\"")
  }

  private func notJSON(_ what: String) -> CommandFailure {
    CommandFailure("\(input.name) \(what) (at byte \(offset)); it should be {\"events\":[...]} or one event a line")
  }

  private func peek() throws(CommandFailure) -> UInt8? {
    if at == bytes.count {
      bytes = try input.read(Self.chunk)
      at = 0
    }
    return at < bytes.count ? bytes[at] : nil
  }

  private func take() throws(CommandFailure) -> UInt8? {
    guard let byte = try peek() else { return nil }
    at += 1
    offset += 1
    return byte
  }
}

/// Follows JSON byte by byte: how deep it is, whether in a string, and after which key.
struct JSONNesting {
  private(set) var depth = 0
  /// The last key of the outermost object, once its colon has come, until the next comma; escapes as they stand.
  private(set) var key: [UInt8] = []
  private var string: [UInt8] = []
  private var isInString = false
  private var isEscaped = false

  /// Between values: a comma or a bracket here is not part of the element.
  var isOutside: Bool { depth == 0 && !isInString }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  mutating func pass(_ byte: UInt8) {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
        return
      }
      if depth == 1, string.count < 16 { string.append(byte) }
      return
    }
    switch byte {
    case UInt8(ascii: "\""):
      isInString = true
      string.removeAll(keepingCapacity: true)
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
    case UInt8(ascii: ":"): if depth == 1 { key = string }
    case UInt8(ascii: ","): if depth == 1 { key = [] }
    default: break
    }
  }
}
