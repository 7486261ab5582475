/// Looks for a header among those of a request.
struct HeaderSearch {
  private let name: StaticString
  /// As ``HTTPExchange/header(_:)`` has it.
  private(set) var value: String?
  private var values: [String] = []

  init(_ name: StaticString) { self.name = name }

  /// Takes a header in, in the order they came.
  mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard isSought(name) else { return }
    let text = String(decoding: value.trimmed, as: UTF8.self)
    guard let first = self.value else {
      self.value = text
      return
    }
    // A second one is rare: only then are they kept apart.
    if values.isEmpty { values = [first] }
    guard !values.contains(text) else { return }
    values.append(text)
    self.value = values.joined(separator: ", ")
  }

  private func isSought(_ other: UnsafeRawBufferPointer) -> Bool {
    guard other.count == name.utf8CodeUnitCount else { return false }
    for index in 0..<other.count where other[index].lowercase != name.utf8Start[index].lowercase { return false }
    return true
  }
}

extension UInt8 {
  /// A capital ASCII letter's small one, and any other byte as it is.
  fileprivate var lowercase: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
