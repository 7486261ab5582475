/// The form of the file that holds the keys which made apps of their own: text, so that what is left of a damaged one can be read.
///
///     event-relay keys 1
///     key-1a2b3c4d aso_wk_…
///     end 1
///
/// Each line vouches for itself, since the app's name is made of the key's digest; the last one tells their number.
enum KeyFile {
  static let version = 1
  static let magic = "event-relay keys"
  /// Bytes that are read; many times what a full one has.
  static let bytesMax = 4 << 20

  struct Line: Sendable, Equatable {
    var app: String
    var key: String
  }

  enum Content: Sendable, Equatable {
    case whole([Line])
    /// With what can be read of it.
    case damaged([Line])
    case newer(version: Int)
  }

  static func content(of lines: [Line]) -> [UInt8] {
    var out = Array("\(magic) \(version)\n".utf8)
    for line in lines { out += "\(line.app) \(line.key)\n".utf8 }
    out += "end \(lines.count)\n".utf8
    return out
  }

  static func parse(_ bytes: [UInt8]) -> Content {
    let texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    let found = texts[0].hasPrefix("\(magic) ") ? Int(texts[0].dropFirst(magic.utf8.count + 1)) : nil
    if let found, found > version { return .newer(version: found) }
    var lines: [Line] = []
    var seen: Set<String> = []
    var unreadable = 0
    for text in texts {
      let parts = text.split(separator: " ", omittingEmptySubsequences: false)
      guard parts.count == 2, KeyRules.isKey(String(parts[1])), OwnApp.isName(parts[0], for: String(parts[1])),
        seen.insert(String(parts[0])).inserted
      else {
        unreadable += 1
        continue
      }
      lines.append(Line(app: String(parts[0]), key: String(parts[1])))
    }
    // The first line, the last one and the empty text after it are no keys.
    let isWhole = found == version && texts.suffix(2) == ["end \(lines.count)", ""] && unreadable == 3
    return isWhole ? .whole(lines) : .damaged(lines)
  }
}
