/// A JSON value, for the small documents off the hot path: positions, answers, `/status`.
///
/// Events are never held this way: their bytes go through as they came.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// A number in the document's own text, so that none loses a digit.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// The members in the document's order.
  case object([Member])

  public struct Member: Sendable, Equatable {
    public var key: String
    public var value: JSONValue

    public init(_ key: String, _ value: JSONValue) {
      self.key = key
      self.value = value
    }
  }
}

extension JSONValue {
  /// The value of a member; where a key stands twice, the last counts. Nil for anything but an object.
  public subscript(_ key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.key == key }?.value
  }

  public var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  public var array: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  public var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The number, when it is a whole one that fits.
  public func integer<I: FixedWidthInteger>(as type: I.Type = I.self) -> I? {
    if case .number(let text) = self { I(text) } else { nil }
  }

  public var double: Double? {
    if case .number(let text) = self { Double(text) } else { nil }
  }

  public var isNull: Bool { self == .null }
}

// (No nil literal: where an optional value is wanted, it would silently mean a JSON null.)
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int) { self = .number(String(value)) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }

  public init(_ number: some FixedWidthInteger) { self = .number(String(number)) }
  public init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }
  /// A number with at most `digits` digits after the point; null when it isn't finite.
  public init(_ number: Double?, digits: Int = 3) {
    guard let number, number.isFinite else {
      self = .null
      return
    }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let rounded = (number * scale).rounded() / scale
    self = .number(rounded == rounded.rounded() && abs(rounded) < 1e15 ? String(Int64(rounded)) : "\(rounded)")
  }
}
