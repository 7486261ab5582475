import CCurl

/// The header lines of a request in libcurl's form, made anew only when they change.
struct HeaderList {
  private(set) var lines: [String] = []
  private(set) var list: UnsafeMutablePointer<curl_slist>?
  private var hasBody: Bool?

  /// Takes the lines; what is wrong with them, else. A line that isn't one would let its sender write the next request.
  mutating func set(_ lines: [String], hasBody: Bool) -> String? {
    if self.hasBody == hasBody, self.lines == lines { return nil }
    free()
    for line in lines {
      guard Self.isLine(line) else { return "a request header is not a line `Name: value`" }
    }
    var all = lines.map { $0.hasSuffix(":") ? $0.dropLast() + ";" : $0 }
    // Libcurl would wait for a `100 Continue` before larger bodies, and make up a type for them.
    all.append("Expect:")
    if hasBody, !lines.contains(where: { $0.lowercased().hasPrefix("content-type:") }) { all.append("Content-Type:") }
    for line in all {
      guard let longer = curl_slist_append(list, line) else {
        free()
        return "no memory for the request's headers"
      }
      list = longer
    }
    self.lines = lines
    self.hasBody = hasBody
    return nil
  }

  mutating func free() {
    curl_slist_free_all(list)
    list = nil
    lines = []
    hasBody = nil
  }

  /// A name of a token's characters, a colon, and no control character after it.
  private static func isLine(_ line: String) -> Bool {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon != line.startIndex else { return false }
    let isName = line.utf8[..<colon].allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && !#"()<>@,;:\"/[]?={}"#.utf8.contains(byte)
    }
    return isName && line.utf8[colon...].allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F }
  }
}
