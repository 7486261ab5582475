/// A change to one file's contents.
enum FileChange {
  /// Bytes of the journal; nil: so many zeros.
  case write(offset: Int, count: Int, bytes: ArraySlice<UInt8>?)
  case resize(Int)
  /// At least this size.
  case allocate(Int)

  /// The file's size after it.
  func size(after size: Int) -> Int {
    switch self {
    case .write(let offset, let count, _): max(size, offset + count)
    case .resize(let new): new
    case .allocate(let new): max(size, new)
    }
  }

  /// Carries it out on a whole file.
  func apply(to content: inout [UInt8]) {
    let size = size(after: content.count)
    if size > content.count {
      content += [UInt8](repeating: 0, count: size - content.count)
    } else if size < content.count {
      content.removeLast(content.count - size)
    }
    apply(to: &content, at: 0)
  }

  /// Carries it out on a piece of a file, which is as long as it is: what lies behind a new end becomes zeros.
  func apply(to piece: inout [UInt8], at start: Int) {
    switch self {
    case .allocate: return
    case .resize(let size):
      let from = max(size - start, 0)
      if from < piece.count { Self.put(nil, into: &piece, from: from, count: piece.count - from) }
    case .write(let offset, let count, let bytes):
      let from = max(offset, start)
      let until = min(offset + count, start + piece.count)
      guard from < until else { return }
      let skipped = from - offset
      Self.put(bytes?.dropFirst(skipped), into: &piece, from: from - start, count: until - from)
    }
  }

  /// The bytes it may change in a file of a size: what is written, or what lies behind a new end.
  func range(in size: Int) -> Range<Int> {
    switch self {
    case .write(let offset, let count, _): offset..<offset + count
    case .resize(let new): min(new, size)..<size
    case .allocate: 0..<0
    }
  }

  private static func put(_ bytes: ArraySlice<UInt8>?, into piece: inout [UInt8], from: Int, count: Int) {
    piece.withUnsafeMutableBytes { target in
      let place = UnsafeMutableRawBufferPointer(rebasing: target[from..<from + count])
      if let bytes {
        bytes.withUnsafeBytes { place.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      } else {
        place.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
  }
}
