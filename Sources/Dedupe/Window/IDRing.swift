/// Ids in the order in which they came, the oldest first, with an index by key: bounded memory, and no pause ever.
///
/// Entries lie in blocks that come and go, so that memory follows what is remembered; the index is a table of chains, the
/// newest entry first. An entry that falls off the old end needs no unlinking: a chain ends where its positions do.
/// One entry takes ``bytesPerID`` bytes at most, and one more block may be kept. Not thread-safe.
struct IDRing: ~Copyable {
  struct Entry: BitwiseCopyable {
    var key: EventKey
    var body: UInt64
    /// What became of it; see ``DuplicateWindow``.
    var state: UInt64
    /// When it came, in milliseconds; never less than that of the entry before it.
    var at: Int64
    /// The entry of the same chain that came before this one; 0: none.
    var older: UInt64 = 0
  }

  /// An entry, and its part of an index with twice as many chains as ids at least and four times as many at most.
  static let bytesPerID = MemoryLayout<Entry>.stride + 4 * MemoryLayout<UInt32>.stride
  static let blockEntries = 4096
  /// Positions that are remembered together differ in their last 32 bits.
  static let capacityMax = 1 << 30

  let capacity: Int
  /// The oldest entry's position, and the position that the next one gets. Positions only grow, but for ``popNewest()``.
  private(set) var tail, head: UInt64
  /// The last 32 bits of the position of each chain's newest entry. What is long gone may pass for a later entry's: then a
  /// look goes down another chain in vain, and ends with it.
  private let chains: UnsafeMutablePointer<UInt32>
  private let chainMask: UInt64
  private var blocks: [UnsafeMutablePointer<Entry>?]
  /// A block that was given up, for the next one that is wanted.
  private var spare: UnsafeMutablePointer<Entry>?
  private let seed: (UInt64, UInt64)

  /// - Parameters:
  ///   - seed: unknown to senders, so that nobody can choose ids that share a chain.
  ///   - first: the first position; 1 or more.
  init(capacity: Int, seed: (UInt64, UInt64), first: UInt64) {
    (tail, head) = (first, first)
    self.capacity = min(max(1, capacity), Self.capacityMax)
    self.seed = (seed.0 | 1, seed.1 | 1)
    var count = 16
    while count < 2 * self.capacity { count *= 2 }
    chains = .allocate(capacity: count)
    chains.initialize(repeating: 0, count: count)
    chainMask = UInt64(count - 1)
    blocks = Array(repeating: nil, count: self.capacity / Self.blockEntries + 2)
  }

  deinit {
    chains.deallocate()
    for case let block? in blocks { block.deallocate() }
    spare?.deallocate()
  }

  var count: Int { Int(head - tail) }

  func has(_ position: UInt64) -> Bool { position >= tail && position < head }

  /// The entry at a position that ``has(_:)``.
  subscript(position: UInt64) -> Entry {
    get { pointer(position).pointee }
    nonmutating set { pointer(position).pointee = newValue }
  }

  @inline(__always)
  private func pointer(_ position: UInt64) -> UnsafeMutablePointer<Entry> {
    let block = Int(position / UInt64(Self.blockEntries) % UInt64(blocks.count))
    return blocks[block]! + Int(position % UInt64(Self.blockEntries))
  }

  @inline(__always)
  private func chain(of key: EventKey) -> Int {
    func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
      let (high, low) = one.multipliedFullWidth(by: other)
      return high ^ low
    }
    let hash = mix(mix(key.idHigh ^ seed.0, key.idLow ^ seed.1) ^ key.app, seed.0 ^ 0x9e37_79b9_7f4a_7c15)
    return Int(hash & chainMask)
  }

  @inline(__always)
  private func newest(_ chain: Int) -> UInt64 {
    let position = head & ~0xFFFF_FFFF | UInt64(chains[chain])
    return position < head ? position : position &- (1 << 32)
  }

  /// Where the newest entry of a key is; nil when there is none.
  func find(_ key: EventKey) -> UInt64? {
    var position = newest(chain(of: key))
    while has(position) {
      let entry = pointer(position)
      if entry.pointee.key == key { return position }
      position = entry.pointee.older
    }
    return nil
  }

  /// Puts an entry at the new end; one whole ring more than fits is the caller's to prevent with ``dropOldest()``.
  mutating func append(_ entry: Entry) -> UInt64 {
    precondition(count < capacity, "the ring is full")
    let position = head
    let at = Int(position / UInt64(Self.blockEntries) % UInt64(blocks.count))
    if blocks[at] == nil {
      blocks[at] = spare ?? .allocate(capacity: Self.blockEntries)
      spare = nil
    }
    let chain = chain(of: entry.key)
    var entry = entry
    entry.older = newest(chain)
    head += 1
    (blocks[at]! + Int(position % UInt64(Self.blockEntries))).initialize(to: entry)
    chains[chain] = UInt32(truncatingIfNeeded: position)
    return position
  }

  mutating func dropOldest() {
    tail += 1
    if tail % UInt64(Self.blockEntries) == 0 || tail == head { release(tail - 1) }
  }

  /// Takes the newest entry back, which must be unlinked; its position is given again.
  mutating func popNewest() {
    head -= 1
    if head % UInt64(Self.blockEntries) == 0 { release(head) }
  }

  /// Gives the block of a position up when no entry is left in it.
  private mutating func release(_ position: UInt64) {
    let size = UInt64(Self.blockEntries)
    if !isEmpty, position / size == tail / size || position / size == (head - 1) / size { return }
    let at = Int(position / size % UInt64(blocks.count))
    guard let block = blocks[at] else { return }
    blocks[at] = nil
    if spare == nil { spare = block } else { block.deallocate() }
  }

  private var isEmpty: Bool { head == tail }

  /// Takes an entry out of the index: it is found no more, and keeps its place in the order.
  func unlink(_ position: UInt64) {
    let chain = chain(of: pointer(position).pointee.key)
    let older = pointer(position).pointee.older
    var newer = newest(chain)
    if newer == position {
      chains[chain] = UInt32(truncatingIfNeeded: older)
      return
    }
    while has(newer) {
      if pointer(newer).pointee.older == position {
        pointer(newer).pointee.older = older
        return
      }
      newer = pointer(newer).pointee.older
    }
  }

  /// Bytes taken now.
  var bytes: Int {
    let kept = blocks.count { $0 != nil } + (spare == nil ? 0 : 1)
    return kept * Self.blockEntries * MemoryLayout<Entry>.stride + Int(chainMask + 1) * MemoryLayout<UInt32>.stride
      + blocks.count * MemoryLayout<Int>.stride
  }
}
