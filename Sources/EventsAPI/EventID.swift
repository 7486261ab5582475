/// A UUID as text: 8-4-4-4-12 hex digits of any version, in the letters' case they came in.
struct EventID: Equatable {
  /// The first eight bytes as a big-endian number, and the last eight.
  var high: UInt64
  var low: UInt64
  /// Which of the 32 digits are capital letters, the first at bit 0.
  var capitals: UInt32

  static let textLength = 36
}

extension EventID {
  /// Reads the 36 bytes at `text`; nil when they are no UUID.
  @inline(__always)
  static func parse(_ text: UnsafeRawPointer) -> EventID? {
    // Eight digits at a time: 8, 4-4, 4-(12's first 4), and the last 8.
    let a = word(text, at: 0)
    let b = half(text, at: 9) | half(text, at: 14) << 32
    let c = half(text, at: 19) | half(text, at: 24) << 32
    let d = word(text, at: 28)
    let dashes =
      UInt32(text.load(fromByteOffset: 8, as: UInt8.self))
      | UInt32(text.load(fromByteOffset: 13, as: UInt8.self)) << 8
      | UInt32(text.load(fromByteOffset: 18, as: UInt8.self)) << 16
      | UInt32(text.load(fromByteOffset: 23, as: UInt8.self)) << 24
    guard dashes == 0x2D2D_2D2D, (hexMarks(a) & hexMarks(b) & hexMarks(c) & hexMarks(d)) == ones << 7 else {
      return nil
    }
    return EventID(
      high: packed(a) << 32 | packed(b), low: packed(c) << 32 | packed(d),
      capitals: UInt32(truncatingIfNeeded: capitalMarks(a) | capitalMarks(b) << 8 | capitalMarks(c) << 16)
        | UInt32(truncatingIfNeeded: capitalMarks(d)) << 24)
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }

  @inline(__always)
  private static func word(_ text: UnsafeRawPointer, at offset: Int) -> UInt64 {
    UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func half(_ text: UnsafeRawPointer, at offset: Int) -> UInt64 {
    UInt64(UInt32(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  /// The top bit of each byte that is a hex digit; the other bits are zero.
  @inline(__always)
  private static func hexMarks(_ bytes: UInt64) -> UInt64 {
    let ascii = bytes & (ones &* 0x7F)
    let letters = ascii | ones << 5
    let isDigit = (ascii &+ ones &* (0x80 - 0x30)) & ~(ascii &+ ones &* (0x80 - 0x3A))
    let isLetter = (letters &+ ones &* (0x80 - 0x61)) & ~(letters &+ ones &* (0x80 - 0x67))
    return (isDigit | isLetter) & ~bytes & (ones << 7)
  }

  /// Eight digits as a number, the first digit the highest.
  @inline(__always)
  private static func packed(_ bytes: UInt64) -> UInt64 {
    let digits = (bytes & (ones &* 0x0F)) &+ ((bytes >> 6) & ones) &* 9
    let pairs = (digits << 4 | digits >> 8) & 0x00FF_00FF_00FF_00FF
    let quads = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
    return UInt64(UInt32(truncatingIfNeeded: quads | quads >> 16).byteSwapped)
  }

  /// Of eight hex digits, a bit each for those that are capital letters.
  @inline(__always)
  private static func capitalMarks(_ bytes: UInt64) -> UInt64 {
    let marks = (bytes >> 6) & ~(bytes >> 5) & ones
    return (marks &* 0x0102_0408_1020_4080) >> 56
  }
}

extension EventID: CustomStringConvertible {
  /// The text as it came.
  var description: String {
    var out: [UInt8] = []
    write(to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  /// Appends the 36 characters.
  func write(to out: inout [UInt8]) {
    for digit in 0..<32 {
      if digit == 8 || digit == 12 || digit == 16 || digit == 20 { out.append(UInt8(ascii: "-")) }
      let half = digit < 16 ? high : low
      let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 15
      let letter = capitals >> UInt32(digit) & 1 == 1 ? UInt8(ascii: "A") : UInt8(ascii: "a")
      out.append(value < 10 ? UInt8(ascii: "0") + value : letter + value - 10)
    }
  }
}
