/// The persons whose events are not kept, as a file lists them.
///
/// One id a line; blank lines and lines that begin with `#` are skipped, and so are spaces and tabs around an id.
public struct DeniedIDs: Sendable, Equatable, CustomStringConvertible {
  /// Bytes of a file.
  static let fileBytesMax = 10_000_000
  static let countMax = 1_000_000
  /// Bytes of an id.
  static let idBytesMax = 1024
  /// Faults of a file that are told, one by one.
  private static let faultsMax = 10

  /// The ids in the file's order, each with a line break behind it.
  public let lines: [UInt8]
  /// Ids, those that stand there twice counted twice.
  public let count: Int

  public init(_ ids: [String]) {
    lines = ids.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    count = ids.count
  }

  private init(lines: [UInt8], count: Int) {
    self.lines = lines
    self.count = count
  }

  /// (Who is on it is nobody's business.)
  public var description: String { count == 1 ? "1 id" : "\(count) ids" }

  /// A line that is wrong; its text is not in it.
  struct Fault: Error, Equatable {
    /// From 1; 0 for the whole file.
    var line: Int
    /// A predicate, and what would be right.
    var message: String
  }

  struct Faults: Error, Equatable { var all: [Fault] }

  /// What a file says, or what is wrong with it.
  static func parse(_ bytes: [UInt8]) -> Result<DeniedIDs, Faults> {
    var faults: [Fault] = []
    var lines: [UInt8] = []
    lines.reserveCapacity(bytes.count + 1)
    var count = 0
    // (Of a file that is UTF-8 as a whole every line is.)
    let isText = String(validating: bytes, as: UTF8.self) != nil
    // What some editors put in front of UTF-8.
    var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    var number = 0
    while start < bytes.count, faults.count < faultsMax {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let id = trimmed(bytes[start..<end])
      (start, number) = (end + 1, number + 1)
      guard let first = id.first, first != UInt8(ascii: "#") else { continue }
      count += 1
      if let problem = problem(of: id, count: count, isText: isText) {
        faults.append(Fault(line: number, message: problem))
        if count > countMax { break }
      } else {
        lines += id
        lines.append(UInt8(ascii: "\n"))
      }
    }
    if faults.count == faultsMax { faults.append(Fault(line: 0, message: "may have more such lines")) }
    return faults.isEmpty ? .success(DeniedIDs(lines: lines, count: count)) : .failure(Faults(all: faults))
  }

  private static func problem(of id: ArraySlice<UInt8>, count: Int, isText: Bool) -> String? {
    if count > countMax { return "is one id too many; \(countMax) may be listed" }
    if id.count > idBytesMax { return "has \(id.count) bytes; an id has \(idBytesMax) at most, and a line holds one" }
    if !isText, String(validating: id, as: UTF8.self) == nil { return "is not UTF-8 text; save the file as UTF-8" }
    if id.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      return "holds a control character; a line holds one id and nothing else, in UTF-8"
    }
    return nil
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let isSpace = { (byte: UInt8) in
      byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }
    guard let first = line.firstIndex(where: { !isSpace($0) }), let last = line.lastIndex(where: { !isSpace($0) })
    else {
      return []
    }
    return line[first...last]
  }
}

extension Section {
  /// Reads the path of a file of ids, and the ids; `~` for none. It is a fault when they can't be read.
  func readDeniedIDs(_ key: String, into target: inout DeniedIDs?) {
    var path: String?
    readOptional(key, into: &path, .path(relativeTo: directory))
    guard let path else { return }
    findings.reads(path)
    switch FileText.read(path, bytesMax: DeniedIDs.fileBytesMax) {
    case .failure(let fault): self.fault(key, "\(findings.quoting.quote(path)): \(fault.message)")
    case .success(let bytes):
      switch DeniedIDs.parse(bytes) {
      case .success(let ids):
        if ids.count == 0 { warn(key, "\(findings.quoting.quote(path)) lists nobody: no event is left out") }
        target = ids
      case .failure(let faults):
        for fault in faults.all {
          let place = fault.line > 0 ? ", line \(fault.line)" : ""
          self.fault(key, "\(findings.quoting.quote(path))\(place): \(fault.message)")
        }
      }
    }
  }
}
