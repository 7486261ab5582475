/// A value of a YAML document, with the line on which it begins.
struct YAMLNode: Equatable {
  indirect enum Content: Equatable {
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Member])
  }

  struct Member: Equatable {
    var key: String
    var line: Int
    var value: YAMLNode
  }

  /// From 1.
  var line: Int
  var content: Content

  /// `~`, `null` or nothing, without quotes.
  var isNull: Bool {
    guard case .scalar(let text, isPlain: true) = content else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(text)
  }

  /// What it is, for a fault.
  var kind: String {
    switch content {
    case .scalar: isNull ? "nothing" : "a single value"
    case .sequence: "a list"
    case .mapping: "a group of keys"
    }
  }
}
