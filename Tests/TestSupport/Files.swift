import Glibc

/// A file's bytes; nil when it isn't there.
public func readFile(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var out: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65536)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    guard count > 0 else { return out }
    out += chunk[..<count]
  }
}

/// A file's lines, each without its line break.
public func readLines(_ path: String) -> [String] {
  (readFile(path) ?? []).split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
}
