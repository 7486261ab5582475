/// What reading one file has found so far, and what all its parts need to know.
final class Findings {
  /// Past this many the rest is only counted.
  static let faultsMax = 1000

  let file: String
  /// The directory that relative paths are relative to, absolute.
  let directory: String
  let environment: [String: String]
  /// Apps don't matter, nor variables that are not set.
  let isForAsking: Bool
  let quoting: Quoting
  private(set) var warnings: [ConfigurationFault] = []
  /// Every key the reading asked for, by path, with `[]` for an element: the schema.
  private(set) var keys: Set<String> = []
  /// Every other file that was read, or should have been.
  private(set) var files: Set<String> = []
  private var faults: [ConfigurationFault] = []
  private var uncounted = 0

  init(
    file: String, directory: String, environment: [String: String], isForAsking: Bool = false,
    quoting: Quoting = Quoting()
  ) {
    self.quoting = quoting
    self.file = file
    self.directory = directory
    self.environment = environment
    self.isForAsking = isForAsking
  }

  func fault(line: Int, key: String, _ message: String) {
    guard faults.count < Self.faultsMax else { return uncounted += 1 }
    faults.append(ConfigurationFault(file: file, line: line, key: key, message: message))
  }

  func warn(line: Int, key: String, _ message: String) {
    guard warnings.count < Self.faultsMax else { return }
    warnings.append(ConfigurationFault(file: file, line: line, key: key, message: message))
  }

  func asked(_ key: String) { keys.insert(key) }

  func reads(_ path: String) { files.insert(path) }

  /// Everything that is wrong; nil when nothing is.
  var all: ConfigurationFaults? {
    guard !faults.isEmpty else { return nil }
    let rest = ConfigurationFault(file: file, line: Int.max, key: "", message: "and \(uncounted) faults more")
    var sorted = ConfigurationFaults(faults + (uncounted > 0 ? [rest] : [])).all
    if uncounted > 0 { sorted[sorted.count - 1].line = 0 }
    return ConfigurationFaults(inOrder: sorted)
  }
}

/// How values and keys of the file stand in messages.
struct Quoting {
  /// What keys of the protocols begin with.
  var keyPrefixes: [String] = ["aso_wk_"]

  /// A write key in the wrong place is a write key still. (A short beginning stands within many words.)
  private func holdsKey(_ text: String) -> Bool {
    keyPrefixes.contains { prefix in
      prefix.utf8.count > 4
        ? text.contains(prefix)
        : text.ranges(of: prefix).contains { found in
          found.lowerBound == text.startIndex || !isWordByte(text.utf8[text.utf8.index(before: found.lowerBound)])
        }
    }
  }

  /// In quotes, at most 60 characters, control characters escaped.
  func quote(_ text: String) -> String {
    if holdsKey(text) { return "a write key" }
    var out = "\""
    for scalar in text.unicodeScalars.prefix(60) {
      out += scalar.value < 0x20 || scalar.value == 0x7F ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
    }
    return out + (text.unicodeScalars.count > 60 ? "...\"" : "\"")
  }

  /// A key as part of a path: itself, if it looks like one, else a question mark.
  func key(_ text: String) -> String {
    let isWord = text.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    return isWord && (1...40).contains(text.utf8.count) && !holdsKey(text) ? text : "?"
  }
}
