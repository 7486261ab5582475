import CYAML

/// Reads one YAML document as a tree.
///
/// Anchors, aliases, tags and further documents are refused: a configuration has no use for them, and without aliases
/// a tree is never larger than its text.
struct YAMLReader {
  /// A place that is no YAML, or YAML that is refused.
  struct Fault: Error, Equatable {
    var line: Int
    var message: String
  }

  /// Levels of lists and groups in each other.
  static let depthMax = 16

  private let reader: OpaquePointer
  private let bytes: [UInt8]

  /// The document; nil when the text holds nothing but white space and comments.
  static func read(_ bytes: [UInt8]) -> Result<YAMLNode?, Fault> {
    bytes.withUnsafeBufferPointer { buffer in
      // libyaml wants an address for an empty text too.
      var none: UInt8 = 0
      return withUnsafePointer(to: &none) { none in
        guard let reader = cyaml_reader_create(buffer.baseAddress ?? none, buffer.count) else {
          return .failure(Fault(line: 0, message: "there is no memory left to read it"))
        }
        defer { cyaml_reader_destroy(reader) }
        return Result { () throws(Fault) in try YAMLReader(reader: reader, bytes: bytes).document() }
      }
    }
  }

  private func document() throws(Fault) -> YAMLNode? {
    guard try next().kind == cyaml_begin_document else { return nil }
    let root = try node(try next(), depth: 0)
    _ = try next()
    let after = try next()
    guard after.kind == cyaml_end else {
      throw Fault(line: Int(after.line), message: "a second document begins here; a configuration is one: remove '---'")
    }
    return root
  }

  private func node(_ event: cyaml_event, depth: Int) throws(Fault) -> YAMLNode {
    let line = Int(event.line)
    try refuseSpecials(event)
    switch event.kind {
    case cyaml_scalar:
      return YAMLNode(line: line, content: .scalar(text(event), isPlain: event.is_plain))
    case cyaml_begin_sequence:
      try checkDepth(depth, line)
      var elements: [YAMLNode] = []
      while true {
        let event = try next()
        if event.kind == cyaml_end_sequence { return YAMLNode(line: line, content: .sequence(elements)) }
        elements.append(try node(event, depth: depth + 1))
      }
    default:
      try checkDepth(depth, line)
      return YAMLNode(line: line, content: .mapping(try members(depth: depth)))
    }
  }

  private func members(depth: Int) throws(Fault) -> [YAMLNode.Member] {
    var members: [YAMLNode.Member] = []
    while true {
      let event = try next()
      if event.kind == cyaml_end_mapping { return members }
      try refuseSpecials(event)
      guard event.kind == cyaml_scalar else {
        throw Fault(line: Int(event.line), message: "a key must be a plain word, not a list or a group")
      }
      let (key, line) = (text(event), Int(event.line))
      members.append(.init(key: key, line: line, value: try node(try next(), depth: depth + 1)))
    }
  }

  private func checkDepth(_ depth: Int, _ line: Int) throws(Fault) {
    guard depth < Self.depthMax else {
      throw Fault(
        line: line, message: "more than \(Self.depthMax) levels stand in each other here; no key needs as many")
    }
  }

  private func refuseSpecials(_ event: cyaml_event) throws(Fault) {
    let line = Int(event.line)
    if event.kind == cyaml_alias {
      throw Fault(
        line: line,
        message:
          "YAML aliases (*name) are not taken: write the value out, or put quotes around a value that begins with *")
    }
    if event.has_anchor {
      throw Fault(
        line: line,
        message: "YAML anchors (&name) are not taken: remove it, or put quotes around a value that begins with &")
    }
    if event.has_tag {
      throw Fault(
        line: line,
        message: "YAML tags (!name) are not taken: remove it, or put quotes around a value that begins with !")
    }
  }

  private func text(_ event: cyaml_event) -> String {
    String(decoding: UnsafeRawBufferPointer(start: event.text, count: event.length), as: UTF8.self)
  }

  private func next() throws(Fault) -> cyaml_event {
    let event = cyaml_reader_next(reader)
    guard event.kind == cyaml_fault else { return event }
    throw YAMLProblem(event, in: bytes).fault
  }
}
