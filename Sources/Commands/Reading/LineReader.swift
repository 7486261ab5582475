import EventsAPI
import Glibc

/// Reads the lines of a file that aren't empty.
final class LineReader {
  struct Line {
    /// From 1, empty lines counted.
    var number: Int
    /// Without the line break; readable for 64 bytes past its end. Nil for a line over the limit.
    var bytes: UnsafeRawBufferPointer?
  }

  /// Longer lines are handed out without their bytes.
  static let lineBytesMax = EventsLimits.bodyBytesMax
  /// What a reader of JSON may touch past a text's end.
  private static let padding = 64
  private static let chunk = 256 * 1024

  private let input: InputFile
  private let buffer: UnsafeMutableRawBufferPointer
  private var begin = 0
  private var end = 0
  private var number = 0
  private var isAtEnd = false

  init(_ input: InputFile) {
    self.input = input
    buffer = .allocate(byteCount: Self.lineBytesMax + Self.chunk + Self.padding, alignment: 64)
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { buffer.deallocate() }

  /// The next line; its bytes are good until the one after it is asked for. Nil at the end.
  func next() throws(CommandFailure) -> Line? {
    while let line = try nextOfAny() {
      guard let bytes = line.bytes else { return line }
      let trimmed = Self.trimmed(bytes, isFirst: line.number == 1)
      if !trimmed.isEmpty { return Line(number: line.number, bytes: trimmed) }
    }
    return nil
  }

  private func nextOfAny() throws(CommandFailure) -> Line? {
    var searched = begin
    var isTooLong = false
    while true {
      if searched < end, let found = memchr(buffer.baseAddress! + searched, 0x0A, end - searched) {
        let found = UnsafeRawPointer(found) - UnsafeRawPointer(buffer.baseAddress!)
        defer { begin = found + 1 }
        return line(upTo: found, isTooLong)
      }
      guard !isAtEnd else {
        guard begin < end || isTooLong else { return nil }
        defer { begin = end }
        return line(upTo: end, isTooLong)
      }
      if end - begin > Self.lineBytesMax {
        isTooLong = true
        begin = end
      }
      moveToFront()
      searched = end
      try fill()
    }
  }

  private func line(upTo last: Int, _ isTooLong: Bool) -> Line {
    number += 1
    let isTooLong = isTooLong || last - begin > Self.lineBytesMax
    return Line(number: number, bytes: isTooLong ? nil : UnsafeRawBufferPointer(rebasing: buffer[begin..<last]))
  }

  private func moveToFront() {
    guard begin > 0 else { return }
    let rest = UnsafeRawBufferPointer(rebasing: buffer[begin..<end])
    buffer.copyMemory(from: rest)
    (begin, end) = (0, rest.count)
  }

  private func fill() throws(CommandFailure) {
    let more = try input.read(min(Self.chunk, buffer.count - Self.padding - end))
    isAtEnd = more.isEmpty
    more.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(from: $0) }
    end += more.count
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer, isFirst: Bool) -> UnsafeRawBufferPointer {
    var rest = bytes[...]
    if isFirst, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    while let first = rest.first, first == 0x20 || first == 0x09 || first == 0x0D { rest.removeFirst() }
    while let last = rest.last, last == 0x20 || last == 0x09 || last == 0x0D { rest.removeLast() }
    return UnsafeRawBufferPointer(rebasing: rest)
  }
}
