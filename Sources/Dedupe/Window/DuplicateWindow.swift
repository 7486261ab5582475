/// Remembers which events were seen within the last while: decisions, without locks, clocks or files.
///
/// An event is pending from the moment its request is on its way into the log, under that request's *ticket*, and known once
/// it is stored, under its sequence number. At most as many ids as the limit says are remembered; past it the oldest go.
/// Times are milliseconds on a clock that never runs backwards. Not thread-safe.
struct DuplicateWindow: ~Copyable {
  enum Sighting: Equatable {
    /// Nobody has seen it, or not within the window: it is pending now, at this place.
    case new(place: UInt64)
    /// It is stored.
    case duplicate(isConflict: Bool)
    /// It is on its way under this ticket, perhaps the asker's own.
    case pending(ticket: UInt64, isConflict: Bool)
  }

  /// Set in the state of an entry that is pending; the other bits are its ticket. Else they are the sequence number.
  private static let pendingBit: UInt64 = 1 << 63
  /// The state of an entry that is forgotten, and in no chain.
  private static let forgotten = UInt64.max
  /// Entries past the window that one call drops at most, so that none takes long.
  private static let dropsMax = 256
  private static let earlyMax = 1024

  /// Milliseconds. May change: a longer one covers what isn't dropped yet.
  var window: Int64
  private var ring: IDRing
  private var now: Int64 = .min
  /// Ids that went before their time, since there were too many.
  private(set) var evicted: UInt64 = 0
  /// Events that went to the dead letters before anybody said that they are stored.
  private var early: [UInt64: EventKey] = [:]

  /// - Parameters:
  ///   - window: milliseconds.
  ///   - firstPlace: of the first event; tests begin elsewhere than at 1.
  init(window: Int64, maxIDs: Int, firstPlace: UInt64 = 1) {
    self.window = window
    let seed = (UInt64.random(in: 1 ... .max), UInt64.random(in: 1 ... .max))
    ring = IDRing(capacity: maxIDs, seed: seed, first: firstPlace)
  }

  /// Ids kept, those included that are past the window and not dropped yet.
  var count: Int { ring.count }
  var bytes: Int { ring.bytes }

  /// Judges one event of a request, and takes it in under the request's ticket when it is new.
  mutating func see(_ key: EventKey, body: UInt64, ticket: UInt64, at moment: Int64) -> Sighting {
    now = max(now, moment)
    dropOld()
    if let found = ring.find(key) {
      let entry = ring[found]
      // (On its way for longer than the window: still one event.)
      if entry.state & Self.pendingBit != 0 {
        return .pending(ticket: entry.state & ~Self.pendingBit, isConflict: entry.body != body)
      }
      if entry.at > now - window { return .duplicate(isConflict: entry.body != body) }
    }
    return .new(place: append(key, body, Self.pendingBit | ticket, at: now))
  }

  /// The ticket's events, which are in places that follow each other, are stored under numbers that follow each other.
  mutating func stored(places: Range<UInt64>, ticket: UInt64, first sequence: UInt64) {
    for place in places where isPending(place, ticket) {
      ring[place].state = sequence + (place - places.lowerBound)
    }
    if !early.isEmpty { settleEarly(places) }
  }

  private mutating func settleEarly(_ places: Range<UInt64>) {
    for place in places where ring.has(place) {
      let entry = ring[place]
      let fates = early.filter { $0.value == entry.key }
      for sequence in fates.keys { early[sequence] = nil }
      if fates[entry.state] != nil { _ = forget(entry.key, sequence: entry.state) }
    }
  }

  /// The ticket's events were not stored, and nothing is known of them.
  mutating func refused(places: Range<UInt64>, ticket: UInt64) {
    for place in places where isPending(place, ticket) {
      ring.unlink(place)
      ring[place].state = Self.forgotten
    }
    // A log that refuses for a while must not fill the memory with what it has refused.
    while ring.count > 0, ring[ring.head - 1].state == Self.forgotten { ring.popNewest() }
  }

  private func isPending(_ place: UInt64, _ ticket: UInt64) -> Bool {
    ring.has(place) && ring[place].state == Self.pendingBit | ticket
  }

  /// Forgets a stored event, so that its id counts again; one stored later under the same id stays.
  /// - Returns: false when it wasn't remembered.
  mutating func forget(_ key: EventKey, sequence: UInt64) -> Bool {
    guard let found = ring.find(key) else { return false }
    if ring[found].state & Self.pendingBit != 0 {
      // Its fate was quicker than the word that it is stored. (Few can be: those of requests on their way.)
      if early.count >= Self.earlyMax { early.removeAll() }
      early[sequence] = key
      return true
    }
    guard ring[found].state == sequence else { return false }
    ring.unlink(found)
    ring[found].state = Self.forgotten
    return true
  }

  /// Takes in an event that was stored before this process began. To be called in the order of their numbers, once or more.
  ///
  /// - Parameter moment: when it came; earlier ones than the last count as that.
  mutating func restore(_ key: EventKey, body: UInt64, sequence: UInt64, at moment: Int64) {
    now = max(now, moment)
    if let found = ring.find(key) {
      if ring[found].state >= sequence { return }
      // Else it would be found again once the later one is forgotten.
      ring.unlink(found)
      ring[found].state = Self.forgotten
    }
    _ = append(key, body, sequence, at: now)
  }

  private mutating func append(_ key: EventKey, _ body: UInt64, _ state: UInt64, at moment: Int64) -> UInt64 {
    if ring.count == ring.capacity {
      let oldest = ring[ring.tail]
      if oldest.state != Self.forgotten, oldest.at > now - window { evicted += 1 }
      ring.dropOldest()
    }
    return ring.append(IDRing.Entry(key: key, body: body, state: state, at: moment))
  }

  private mutating func dropOld() {
    var left = Self.dropsMax
    while left > 0, ring.count > 0 {
      let oldest = ring[ring.tail]
      guard oldest.state == Self.forgotten || (oldest.at <= now - window && oldest.state & Self.pendingBit == 0) else {
        return
      }
      ring.dropOldest()
      left -= 1
    }
  }
}
