/// A body with the readable bytes behind it that readers want.
final class Padded {
  private let storage: UnsafeMutableRawBufferPointer
  private let count: Int

  convenience init(_ text: String) { self.init(Array(text.utf8)) }

  init(_ bytes: [UInt8]) {
    storage = .allocate(byteCount: bytes.count + 64, alignment: 16)
    storage.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "}"))
    storage.copyBytes(from: bytes)
    count = bytes.count
  }

  deinit { storage.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

  func use<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result { try body(bytes) }
}
