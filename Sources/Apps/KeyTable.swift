import Glibc

/// Finds by a key's bytes, without making a string of them.
struct KeyTable<Value: Sendable>: Sendable {
  private struct Entry: Sendable {
    var key: String
    var value: Value
  }

  /// By hash, which is seeded anew in each process: senders can't choose keys that collide.
  private var entries: [Int: [Entry]] = [:]
  private(set) var count = 0

  subscript(_ key: UnsafeRawBufferPointer) -> Value? {
    guard let bucket = entries[Self.hash(key)] else { return nil }
    for entry in bucket where Self.isEqual(entry.key, key) { return entry.value }
    return nil
  }

  subscript(_ key: String) -> Value? {
    get {
      var key = key
      return key.withUTF8 { self[UnsafeRawBufferPointer($0)] }
    }
    set {
      var bytes = key
      let hash = bytes.withUTF8 { Self.hash(UnsafeRawBufferPointer($0)) }
      var bucket = entries[hash] ?? []
      count -= bucket.count
      bucket.removeAll { $0.key == key }
      if let newValue { bucket.append(Entry(key: key, value: newValue)) }
      count += bucket.count
      entries[hash] = bucket.isEmpty ? nil : bucket
    }
  }

  private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: key)
    return hasher.finalize()
  }

  private static func isEqual(_ key: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard key.utf8.count == bytes.count else { return false }
    let isEqual = key.utf8.withContiguousStorageIfAvailable { own in
      guard let one = own.baseAddress, let other = bytes.baseAddress else { return own.isEmpty }
      return memcmp(one, other, bytes.count) == 0
    }
    return isEqual ?? key.utf8.elementsEqual(bytes)
  }
}
