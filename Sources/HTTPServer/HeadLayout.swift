/// Whether a head's lines are what the library takes them for, judged by where it says their names and values lie.
///
/// It hands each header out as two C strings in the memory they were received in. A header that goes on in a further
/// line is moved, with that line added to its *name*; a zero byte hides what follows it. Either could make a header, one
/// that tells a body's end too, be another one here than for whoever passed the request on.
struct HeadLayout {
  private(set) var isBroken = false
  /// The zero byte at the last value's end, in the place of its line's end.
  private var end: UnsafeRawPointer?

  /// Takes a header in, in the order they came.
  mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard let begin = name.baseAddress, let content = value.baseAddress else {
      isBroken = true
      return
    }
    if let end {
      // A line ends in CR LF, or in LF alone.
      let gap = begin - end
      if gap != 1 && gap != 2 { isBroken = true }
    }
    // A zero byte stands in the colon's place, then come blanks.
    let colon = begin + name.count
    if content <= colon || content - colon > Self.blanksMax {
      isBroken = true
    } else {
      for offset in 1..<(content - colon) {
        let byte = colon.load(fromByteOffset: offset, as: UInt8.self)
        if byte != 0x20 && byte != 0x09 { isBroken = true }
      }
    }
    end = content + value.count
  }

  /// To be called when all headers were noted: the empty line must follow the last one.
  mutating func finish() {
    if let end, end.load(fromByteOffset: 1, as: UInt8.self) != 0 { isBroken = true }
  }

  /// Blanks before a value that are looked through.
  private static let blanksMax = 1024
}
