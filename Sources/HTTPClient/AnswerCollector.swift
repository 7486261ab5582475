import CCurl

/// Takes an answer as it comes, within limits.
struct AnswerCollector {
  /// Bytes of the status and header lines.
  static let headerBytesMax = 64 * 1024
  static let headerLinesMax = 256
  /// Lines of interim answers, header and trailers together, of which libcurl keeps every one.
  static let allLinesMax = 4 * headerLinesMax
  static let allBytesMax = 4 * headerBytesMax

  /// Something of an answer has come.
  private(set) var hasBegun = false
  /// What is wrong with the answer, when it was broken off for that.
  private(set) var fault: String?
  private var headerBytes: [UInt8] = []
  private var headerEnds: [Int] = []
  private var all = (lines: 0, bytes: 0)
  private var body: [UInt8] = []
  private var isBodyCut = false
  /// Between a status line and the empty line: what comes later are trailers, which nobody reads.
  private var isInHeader = false

  /// Bytes of the body that are wanted.
  private var bodyBytesMax = HTTPAnswer.bodyBytesMax

  mutating func reset(bodyBytesMax: Int = HTTPAnswer.bodyBytesMax) {
    self.bodyBytesMax = min(max(bodyBytesMax, 0), HTTPAnswer.bodyBytesMax)
    all = (0, 0)
    guard hasBegun else { return }
    hasBegun = false
    fault = nil
    headerBytes.removeAll(keepingCapacity: headerBytes.count <= 8192)
    headerEnds.removeAll(keepingCapacity: true)
    body = []
    isBodyCut = false
    isInHeader = false
  }

  /// Takes the status line, a header line or a trailer; false to break off.
  mutating func addHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
    all = (all.lines + 1, all.bytes + line.count)
    guard all.lines <= Self.allLinesMax, all.bytes <= Self.allBytesMax else {
      fault =
        "the answer has more than \(Self.allLinesMax) lines of interim answers, header and trailers, "
        + "or \(Self.allBytesMax) bytes of them"
      return false
    }
    if line.starts(with: "HTTP/".utf8) {
      // What came before was an interim answer.
      headerBytes.removeAll(keepingCapacity: true)
      headerEnds.removeAll(keepingCapacity: true)
      hasBegun = true
      isInHeader = true
      return true
    }
    guard isInHeader else { return true }
    let text = Self.trimmed(line)
    guard !text.isEmpty else {
      isInHeader = false
      return true
    }
    guard headerEnds.count < Self.headerLinesMax, headerBytes.count + text.count <= Self.headerBytesMax else {
      fault = "the answer has more than \(Self.headerLinesMax) header lines or \(Self.headerBytesMax) bytes of them"
      return false
    }
    headerBytes.append(contentsOf: text)
    headerEnds.append(headerBytes.count)
    return true
  }

  /// Takes a piece of the body; false when the rest isn't wanted.
  mutating func addBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    hasBegun = true
    let room = bodyBytesMax - body.count
    if piece.count <= room {
      body.append(contentsOf: piece)
      return true
    }
    body.append(contentsOf: piece[..<room])
    isBodyCut = true
    return false
  }

  /// Whether a transfer that ended so has an answer to give.
  func isComplete(_ code: CURLcode) -> Bool {
    // Libcurl is content with headers that the end of the connection cuts off.
    code == CURLE_OK && hasBegun && !isInHeader || code == CURLE_WRITE_ERROR && isBodyCut
  }

  /// Hands the answer over.
  mutating func takeAnswer(status: Int) -> HTTPAnswer {
    var headers: [(name: String, value: String)] = []
    headers.reserveCapacity(headerEnds.count)
    headerBytes.withUnsafeBytes { bytes in
      var start = 0
      for end in headerEnds {
        if let header = Self.header(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) { headers.append(header) }
        start = end
      }
    }
    return HTTPAnswer(status: status, headers: headers, body: body, isBodyCut: isBodyCut)
  }

  /// A line taken apart; nil for one without a name.
  private static func header(_ line: UnsafeRawBufferPointer) -> (name: String, value: String)? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
    let name = String(unsafeUninitializedCapacity: colon) { out in
      for i in 0..<colon {
        let byte = line[i]
        out[i] = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
      }
      return colon
    }
    let value = trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
    return (name, String(decoding: value, as: UTF8.self))
  }

  private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var start = 0
    var end = text.count
    while end > start, text[end - 1] <= 0x20 { end -= 1 }
    while start < end, text[start] <= 0x20 { start += 1 }
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }
}
