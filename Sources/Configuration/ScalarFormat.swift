/// How one kind of value is written: reads it, or says what is wrong.
public struct ScalarFormat<Value> {
  /// What is right: `a size such as 64MiB`.
  public var noun: String
  /// False for what must not be printed: secrets, and URLs, which may hold some.
  public var isPrintable: Bool
  public var parse: (String) throws(Misfit) -> Value

  public init(noun: String, isPrintable: Bool = true, parse: @escaping (String) throws(Misfit) -> Value) {
    self.noun = noun
    self.isPrintable = isPrintable
    self.parse = parse
  }
}

/// Why a text is no value of a format.
public struct Misfit: Error, Equatable {
  /// A predicate: `has no unit`, `is more than the most, 1GiB`.
  public var problem: String
  /// What would be right, made from the text; only said where the text may be printed.
  public var hint: String?

  public init(_ problem: String, hint: String? = nil) {
    self.problem = problem
    self.hint = hint
  }
}

extension ScalarFormat where Value == String {
  /// Any text but an empty one, without control characters.
  public static func text(_ noun: String = "a text", lengthMax: Int = 1024) -> ScalarFormat {
    ScalarFormat(noun: noun) { text throws(Misfit) in
      guard !text.isEmpty else { throw Misfit("is empty") }
      guard text.utf8.count <= lengthMax else { throw Misfit("is longer than \(lengthMax) bytes") }
      guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
        throw Misfit("holds a control character")
      }
      return text
    }
  }

  /// The name of an app or of a sink: it becomes a metric's label and part of a file's name.
  public static func name(prefixTaken: String? = nil, taken: [String: String]) -> ScalarFormat {
    ScalarFormat(noun: "a name of 1 to 64 letters, digits, _ and -") { text throws(Misfit) in
      guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ isWordByte($0) || $0 == UInt8(ascii: "-") })
      else { throw Misfit("is no name") }
      if let prefixTaken, text.hasPrefix(prefixTaken) {
        throw Misfit("begins with \(prefixTaken), as the names do that the relay makes for keys of no app")
      }
      if let reason = taken[text] { throw Misfit("is taken: \(reason)") }
      return text
    }
  }
}

extension ScalarFormat where Value == RelayConfiguration.Secret {
  /// A write key or a token: 1 to 512 visible ASCII characters, since it goes into a header.
  public static func secret(_ noun: String) -> ScalarFormat {
    ScalarFormat(noun: "\(noun) of 1 to 512 visible ASCII characters", isPrintable: false) { text throws(Misfit) in
      guard !text.isEmpty else { throw Misfit("is empty") }
      guard text.utf8.count <= 512 else { throw Misfit("is longer than 512 characters") }
      guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Misfit("holds a space, a line break or another character that no key has")
      }
      return RelayConfiguration.Secret(text)
    }
  }
}

extension ScalarFormat where Value == Bool {
  public static var boolean: ScalarFormat {
    ScalarFormat(noun: "true or false") { text throws(Misfit) in
      switch text {
      case "true": return true
      case "false": return false
      default:
        switch text.lowercased() {
        case "true", "yes", "on", "y", "1": throw Misfit("is neither true nor false", hint: "true")
        case "false", "no", "off", "n", "0": throw Misfit("is neither true nor false", hint: "false")
        default: throw Misfit("is neither true nor false")
        }
      }
    }
  }
}

extension ScalarFormat where Value == Int {
  public static func integer(_ range: ClosedRange<Int>) -> ScalarFormat {
    ScalarFormat(noun: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text throws(Misfit) in
      let digits = text.hasPrefix("-") ? text.dropFirst() : Substring(text)
      guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), digits == "0" || digits.first != "0" else {
        let bare = String(text.filter { !"_, '".contains($0) })
        throw Misfit("is no whole number", hint: bare != text && Int(bare) != nil ? bare : nil)
      }
      guard let number = Int(text) else { throw Misfit("is too large") }
      guard number >= range.lowerBound else { throw Misfit("is less than the least, \(range.lowerBound)") }
      guard number <= range.upperBound else { throw Misfit("is more than the most, \(range.upperBound)") }
      return number
    }
  }
}

extension ScalarFormat where Value == Double {
  /// A share, `10%`, as a number from 0 to 1.
  public static func percent(_ range: ClosedRange<Int> = 0...100) -> ScalarFormat {
    ScalarFormat(noun: "a share such as 10%, from \(range.lowerBound)% to \(range.upperBound)%") {
      text throws(Misfit) in
      guard text.hasSuffix("%") else {
        let share = Double(text).flatMap { (0...1).contains($0) ? $0 * 100 : $0 }
        let hint = share.map { $0 == $0.rounded() && abs($0) <= 100 ? "\(Int($0))%" : "\($0)%" }
        throw Misfit("has no %", hint: hint)
      }
      let digits = text.dropLast().trimmingSpaces
      guard !digits.isEmpty, digits.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }),
        let number = Double(digits)
      else { throw Misfit("is no share") }
      guard number >= Double(range.lowerBound) else { throw Misfit("is less than the least, \(range.lowerBound)%") }
      guard number <= Double(range.upperBound) else { throw Misfit("is more than the most, \(range.upperBound)%") }
      return number / 100
    }
  }
}

extension ScalarFormat
where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String, Value.AllCases: Sendable {
  /// One of a closed set of words.
  public static var word: ScalarFormat {
    let words = Value.allCases.map(\.rawValue)
    return ScalarFormat(noun: words.joined(separator: " or ")) { text throws(Misfit) in
      if let value = Value(rawValue: text) { return value }
      throw Misfit("is not known", hint: Spelling.nearest(to: text, among: words))
    }
  }
}

func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// A letter, a digit or `_`.
func isWordByte(_ byte: UInt8) -> Bool {
  isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
}

extension StringProtocol {
  /// Without spaces, tabs and line breaks around it.
  var trimmingSpaces: SubSequence {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
