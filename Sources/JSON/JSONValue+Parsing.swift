import CSimdjson

/// Why a text is no JSON document.
public struct JSONError: Error, Sendable, CustomStringConvertible {
  public let description: String
}

extension JSONValue {
  /// Reads a document: an object or an array in UTF-8, at most 64 levels deep.
  public init(parsing text: String) throws(JSONError) {
    try self.init(parsing: Array(text.utf8))
  }

  /// Reads a document: an object or an array in UTF-8, at most 64 levels deep.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in try JSONValue(parsing: bytes) }
    }
    self = try result.get()
  }

  /// Reads a document: an object or an array in UTF-8, at most 64 levels deep.
  public init(parsing bytes: UnsafeRawBufferPointer) throws(JSONError) {
    let builder = JSONBuilder()
    var visitor = json_visitor(
      context: Unmanaged.passUnretained(builder).toOpaque(),
      begin_object: { JSONBuilder.from($0).begin(isObject: true) },
      key: { JSONBuilder.from($0).keys.append(text($1, $2)) },
      end_object: { JSONBuilder.from($0).end() },
      begin_array: { JSONBuilder.from($0).begin(isObject: false) },
      end_array: { JSONBuilder.from($0).end() },
      string: { JSONBuilder.from($0).add(.string(text($1, $2))) },
      number: { JSONBuilder.from($0).add(.number(text($1, $2))) },
      boolean: { JSONBuilder.from($0).add(.bool($1)) },
      null: { JSONBuilder.from($0).add(.null) })
    let fault = withExtendedLifetime(builder) {
      json_document_visit(bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }, bytes.count, &visitor)
    }
    if let fault { throw JSONError(description: "the document \(String(cString: fault))") }
    guard let root = builder.root else { throw JSONError(description: "the document is empty") }
    self = root
  }
}

private func text(_ bytes: UnsafePointer<CChar>?, _ length: Int) -> String {
  guard let bytes else { return "" }
  return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
}

/// Puts visited values together.
private final class JSONBuilder {
  /// A container that isn't closed yet. Filled in place: a value taken out, added to and put back is copied each time.
  private struct Frame {
    var isObject: Bool
    var elements: [JSONValue] = []
    var members: [JSONValue.Member] = []
  }

  private var open: [Frame] = []
  var keys: [String] = []
  private(set) var root: JSONValue?

  static func from(_ context: UnsafeMutableRawPointer?) -> JSONBuilder {
    Unmanaged<JSONBuilder>.fromOpaque(context!).takeUnretainedValue()
  }

  func begin(isObject: Bool) { open.append(Frame(isObject: isObject)) }

  func end() {
    let closed = open.removeLast()
    add(closed.isObject ? .object(closed.members) : .array(closed.elements))
  }

  func add(_ value: JSONValue) {
    guard let last = open.indices.last else {
      root = value
      return
    }
    if open[last].isObject {
      open[last].members.append(JSONValue.Member(keys.removeLast(), value))
    } else {
      open[last].elements.append(value)
    }
  }
}
