@testable import HTTPServer

/// Lines of a head as they came, put where the HTTP library would put them, and judged; beside it the same judged slowly, from
/// the text.
@Sendable func checkHead(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let isHTTP10 = input.byte() & 1 == 1
  let lines = headLines(input.rest)
  // One memory for all, as the library has it: the colon and the line's end become zero bytes.
  var memory: [UInt8] = []
  var places: [(name: Range<Int>, value: Range<Int>)] = []
  for (name, value) in lines {
    let begin = memory.count
    memory += name + [0, 0x20]
    let content = memory.count
    memory += value + [0, 0]
    places.append((begin..<begin + name.count, content..<content + value.count))
  }
  memory += [0, 0]
  var head = RequestHead()
  var layout = HeadLayout()
  var search = HeaderSearch("Content-Type")
  memory.withUnsafeBytes { memory in
    for place in places {
      let name = UnsafeRawBufferPointer(rebasing: memory[place.name])
      let value = UnsafeRawBufferPointer(rebasing: memory[place.value])
      head.note(name: name, value: value)
      layout.note(name: name, value: value)
      search.note(name: name, value: value)
    }
    layout.finish()
  }
  try promise(!layout.isBroken, "a head whose lines are what they seem is called broken")
  let slow = SlowHead(lines)
  try promise(search.value == slow.contentType, "another header was found: \(search.value ?? "-")")
  let isBad = head.badFraming(isHTTP10: isHTTP10) != nil
  try promise(isBad == slow.isBad(isHTTP10: isHTTP10), "the framing is judged otherwise: bad \(isBad)")
  if !isBad {
    try promise(head.contentLength == slow.length, "another length: \(head.contentLength.map(String.init) ?? "-")")
    try promise(head.isChunked == slow.isChunked, "chunked or not")
    try promise(!(head.isChunked && head.contentLength != nil), "a body's end is told twice")
  }
  try promise(head.expectsContinue == slow.expectsContinue, "what is expected")
}

/// Names and values of at most 64 lines; what has no colon is left out.
private func headLines(_ bytes: UnsafeRawBufferPointer) -> [(name: [UInt8], value: [UInt8])] {
  bytes.split(separator: 0x0A).prefix(64).compactMap { line in
    guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex, !line.contains(0) else { return nil }
    return (Array(line[..<colon]), Array(line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }))
  }
}

/// The same questions answered on texts, one after the other.
private struct SlowHead {
  private let lines: [(name: String, value: String, bytes: [UInt8])]

  init(_ lines: [(name: [UInt8], value: [UInt8])]) {
    self.lines = lines.map { name, value in
      let lower = name.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
      return (Self.latin(lower), Self.latin(value.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }), value)
    }
  }

  /// A character for each byte, so that no two bytes melt into one.
  private static func latin(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func trimmed(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    let kept = scalars.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
    return String(String.UnicodeScalarView(kept))
  }

  private func values(_ name: String) -> [String] { lines.filter { $0.name == name }.map(\.value) }

  var contentType: String? {
    var found: [String] = []
    for line in lines where line.name == "content-type" {
      let kept = line.bytes.drop { $0 == 0x20 || $0 == 0x09 }.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed()
      let text = String(decoding: Array(kept), as: UTF8.self)
      if !found.contains(text) { found.append(text) }
    }
    return found.isEmpty ? nil : found.joined(separator: ", ")
  }

  var length: UInt64? {
    guard let text = values("content-length").last.map(Self.trimmed) else { return nil }
    return !text.isEmpty && text.unicodeScalars.allSatisfy { ("0"..."9").contains($0) } ? UInt64(text) : nil
  }

  var isChunked: Bool { values("transfer-encoding") == ["chunked"] }

  var expectsContinue: Bool { values("expect").last.map(Self.trimmed) == "100-continue" }

  /// A name, or an address in brackets, and perhaps a colon and digits.
  private static func isHost(_ text: String) -> Bool {
    let no = Set("/\\?#@<>\"^`{|} \t".unicodeScalars)
    guard text.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value < 0x7F && !no.contains($0) })
    else {
      return false
    }
    let pieces = text.split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
    if pieces.count == 2 {
      return pieces[1].isEmpty || pieces[1].first == ":" && pieces[1].dropFirst().allSatisfy(isDigit)
    }
    return text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().allSatisfy {
      $0.allSatisfy(isDigit)
    }
  }

  private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

  func isBad(isHTTP10: Bool) -> Bool {
    let signs = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".unicodeScalars)
    if lines.contains(where: { !signs.isSuperset(of: $0.name.unicodeScalars) }) { return true }
    if lines.contains(where: { $0.bytes.contains { $0 != 0x09 && $0 < 0x20 || $0 == 0x7F } }) { return true }
    let hosts = values("host")
    if hosts.count > 1 || hosts.isEmpty && !isHTTP10 { return true }
    if let host = hosts.first, !Self.isHost(Self.trimmed(host)) { return true }
    let lengths = values("content-length").count
    if lengths > 1 || lengths == 1 && length == nil { return true }
    guard !values("transfer-encoding").isEmpty else { return false }
    return lengths > 0 || isHTTP10 || !isChunked
  }
}
