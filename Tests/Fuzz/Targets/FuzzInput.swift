/// Takes an input apart: a few bytes that choose something, and the rest.
struct FuzzInput {
  private(set) var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  /// The next byte; 0 at the end.
  mutating func byte() -> UInt8 {
    guard let first = rest.first else { return 0 }
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    return first
  }

  /// What stands before the next byte of this value, which is taken off as well; all of the rest when there is none.
  mutating func part(before mark: UInt8) -> UnsafeRawBufferPointer {
    let end = rest.firstIndex(of: mark) ?? rest.endIndex
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[min(end + 1, rest.endIndex)...]) }
    return UnsafeRawBufferPointer(rebasing: rest[..<end])
  }

  var text: String { String(decoding: rest, as: UTF8.self) }
}

/// Gives bytes as the readers of bodies want them, in memory of exactly their size and the padding's, so that AddressSanitizer
/// sees who looks further. The padding would read as JSON: who looks at it says something else than he should.
func withPadded<Result>(
  _ bytes: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) throws(BrokenPromise) -> Result
) throws(BrokenPromise) -> Result {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 64, alignment: 16)
  defer { memory.deallocate() }
  memory.copyMemory(from: bytes)
  let padding = Array(#"}]}"":,[{}]1e5true"#.utf8)
  for at in bytes.count..<memory.count { memory[at] = padding[(at - bytes.count) % padding.count] }
  return try use(UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]))
}

/// The same for an array's bytes.
func withPadded<Result>(
  _ bytes: [UInt8], _ use: (UnsafeRawBufferPointer) throws(BrokenPromise) -> Result
) throws(BrokenPromise) -> Result {
  let result = bytes.withUnsafeBytes { bytes in
    Swift.Result { () throws(BrokenPromise) in try withPadded(bytes, use) }
  }
  return try result.get()
}
