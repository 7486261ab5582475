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
      begin_object: { JSONBuilder.from($0).begin(.object([])) },
      key: { JSONBuilder.from($0).keys.append(text($1, $2)) },
      end_object: { JSONBuilder.from($0).end() },
      begin_array: { JSONBuilder.from($0).begin(.array([])) },
      end_array: { JSONBuilder.from($0).end() },
      string: { JSONBuilder.from($0).add(.string(text($1, $2))) },
      number: { JSONBuilder.from($0).add(.number(text($1, $2))) },
      boolean: { JSONBuilder.from($0).add(.bool($1)) },
      null: { JSONBuilder.from($0).add(.null) })
    let fault = withExtendedLifetime(builder) {
      json_document_visit(bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }, bytes.count, &visitor)
    }
    if let fault { throw JSONError(description: String(cString: fault)) }
    guard let root = builder.root else { throw JSONError(description: "empty document") }
    self = root
  }
}

private func text(_ bytes: UnsafePointer<CChar>?, _ length: Int) -> String {
  guard let bytes else { return "" }
  return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
}

/// Puts visited values together.
private final class JSONBuilder {
  private var open: [JSONValue] = []
  var keys: [String] = []
  private(set) var root: JSONValue?

  static func from(_ context: UnsafeMutableRawPointer?) -> JSONBuilder {
    Unmanaged<JSONBuilder>.fromOpaque(context!).takeUnretainedValue()
  }

  func begin(_ container: JSONValue) { open.append(container) }

  func end() { add(open.removeLast()) }

  func add(_ value: JSONValue) {
    guard let container = open.popLast() else {
      root = value
      return
    }
    switch container {
    case .object(var members):
      members.append(JSONValue.Member(keys.removeLast(), value))
      open.append(.object(members))
    case .array(var elements):
      elements.append(value)
      open.append(.array(elements))
    default: preconditionFailure("only containers are opened")
    }
  }
}
