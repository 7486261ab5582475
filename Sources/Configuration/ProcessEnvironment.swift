import CYAML

/// The variables this process was started with.
public enum ProcessEnvironment {
  /// A copy of them; of a name that stands twice the first counts.
  public static var current: [String: String] {
    var out: [String: String] = [:]
    guard var next = cyaml_environment() else { return out }
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        let name = String(text[..<equals])
        if out[name] == nil { out[name] = String(text[text.index(after: equals)...]) }
      }
      next += 1
    }
    return out
  }
}
