import Glibc

/// Reads a socket line by line. Blocks.
struct LineSocket {
  /// Longer lines are nobody's.
  private static let lineMax = 4096

  private let socket: Int32
  private var buffer: [UInt8] = []

  init(_ socket: Int32) { self.socket = socket }

  /// The next line without its line break; nil at the end.
  mutating func next() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeFirst(end + 1) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      guard buffer.count < Self.lineMax else { return nil }
      var chunk = [UInt8](repeating: 0, count: 1024)
      let count = recv(socket, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      buffer += chunk[..<count]
    }
  }
}
