/// The persons whose events are not kept: ids as senders send them, compared byte for byte.
///
/// Besides the ids themselves it takes 16 bytes an id.
public struct DenyList: Sendable, Equatable {
  private struct Place: Sendable, Equatable {
    var begin, count: UInt32
  }

  /// The ids, each with a line break behind it.
  private let bytes: [UInt8]
  /// By the hash that events carry of a person's id: most events are told apart by it alone. In their order.
  private let hashes: [UInt64]
  /// Where the ids with these hashes stand; those with the same hash in the order of their bytes.
  private let places: [Place]

  /// Ids, each counted once.
  public var count: Int { hashes.count }
  public var isEmpty: Bool { hashes.isEmpty }

  /// - Parameters:
  ///   - lines: the ids, each with a line break behind it; less than 4 GiB.
  ///   - hash: of an id's bytes, as events carry it.
  public init(lines: [UInt8], hash: (UnsafeRawBufferPointer) -> UInt64) {
    bytes = lines
    (hashes, places) = lines.withUnsafeBytes { bytes in
      var all: [(hash: UInt64, place: Place)] = []
      var begin = 0
      while let end = bytes[begin...].firstIndex(of: UInt8(ascii: "\n")) {
        let id = UnsafeRawBufferPointer(rebasing: bytes[begin..<end])
        if !id.isEmpty { all.append((hash(id), Place(begin: UInt32(begin), count: UInt32(id.count)))) }
        begin = end + 1
      }
      func id(_ place: Place) -> Slice<UnsafeRawBufferPointer> {
        bytes[Int(place.begin)..<Int(place.begin + place.count)]
      }
      all.sort { one, other in
        one.hash != other.hash ? one.hash < other.hash : id(one.place).lexicographicallyPrecedes(id(other.place))
      }
      var hashes: [UInt64] = []
      var places: [Place] = []
      hashes.reserveCapacity(all.count)
      places.reserveCapacity(all.count)
      for next in all {
        if next.hash == hashes.last, let last = places.last, id(last).elementsEqual(id(next.place)) { continue }
        hashes.append(next.hash)
        places.append(next.place)
      }
      return (hashes, places)
    }
  }

  /// - Parameter hash: of an id, as events carry it.
  public init(_ ids: some Sequence<String>, hash: (String) -> UInt64) {
    self.init(lines: ids.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }) {
      hash(String(decoding: $0, as: UTF8.self))
    }
  }

  /// Whether somebody may be on the list whose id has this hash: then the id itself tells.
  public func mayHold(_ hash: UInt64) -> Bool {
    let at = index(of: hash)
    return at < hashes.count && hashes[at] == hash
  }

  public func holds(_ id: String, hash: UInt64) -> Bool {
    var id = id
    return id.withUTF8 { id in
      // (However many ids with one hash somebody may have made: two look-ups by halves.)
      var (low, high) = (index(of: hash), hash == .max ? hashes.count : index(of: hash + 1))
      while low < high {
        let middle = (low + high) / 2
        let listed = bytes[Int(places[middle].begin)..<Int(places[middle].begin + places[middle].count)]
        if listed.elementsEqual(id) { return true }
        if listed.lexicographicallyPrecedes(id) { low = middle + 1 } else { high = middle }
      }
      return false
    }
  }

  /// The first place of a hash that isn't smaller.
  private func index(of hash: UInt64) -> Int {
    var (low, high) = (0, hashes.count)
    while low < high {
      let middle = (low + high) / 2
      if hashes[middle] < hash { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
