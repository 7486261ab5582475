import Clocks

/// What a segment without a usable footer holds, found by walking it, judged by ``RecoveryDecision``.
struct SegmentRecovery {
  /// Something that was on stable storage and is not what it was.
  struct Damage: Equatable {
    var offset: Int
    var end: Int
    /// The numbers of the events that went with it; empty when none did.
    var lost: Range<UInt64>
    /// Whose they were, when that can be told.
    var app: String?
  }

  private(set) var directory = MemoryDirectory()
  /// Where the next frame goes.
  private(set) var dataEnd = SegmentHeader.size
  private(set) var endSequence: UInt64
  /// What the frames knew to be synced.
  private(set) var syncedOffset = SegmentHeader.size
  private(set) var damages: [Damage] = []
  /// A write that never ended: to be copied aside and written over.
  private(set) var torn: Range<Int>?

  private let header: SegmentHeader
  private let names: AppTable
  private var pending: [SegmentScan.Item] = []

  /// Walks the segment.
  ///
  /// - Parameters:
  ///   - end: where the file, or what may hold frames in it, ends.
  ///   - knownEnd: for a segment that another follows: the number after its last event.
  ///   - floor: for the last segment: one more than the newest number that a position on disk names.
  init(
    _ file: any DiskFile, _ header: SegmentHeader, end: Int, knownEnd: UInt64?, floor: UInt64, names: AppTable
  ) throws(LogError) {
    self.header = header
    self.names = names
    endSequence = header.firstSequence
    var scan = SegmentScan(file, end: end, life: header.life, firstSequence: header.firstSequence)
    while let item = try scan.next() {
      if case .frame(let frame, let offset, let app, let occurredAt) = item {
        settlePending(before: frame)
        keep(frame, offset, app, occurredAt)
      } else {
        pending.append(item)
      }
    }
    // (What is so far off is no segment's end: the next one's header has it wrong.)
    let isEnd = knownEnd.map { $0 <= header.firstSequence + Plausible.spanMax } ?? false
    settleTail(knownEnd: isEnd ? knownEnd : nil, floor: floor)
  }

  /// Where the first damage lies that no frame knew to be synced; nil without one.
  var firstUnsynced: Int? { damages.lazy.map(\.offset).filter { $0 >= syncedOffset }.min() }

  /// Takes what follows the last frame for a write that never ended.
  mutating func tear(through end: Int) {
    if end > dataEnd { torn = dataEnd..<end }
  }

  private mutating func keep(_ frame: FrameHeader, _ offset: Int, _ app: String, _ occurredAt: TimeRange) {
    // Numbers that no damage explains were given up by a write that failed.
    syncedOffset = max(syncedOffset, Int(clamping: frame.syncedOffset))
    if !frame.isMark {
      if frame.firstSequence > endSequence && !header.isRewritten {
        lose(endSequence..<frame.firstSequence, offset: dataEnd, end: offset)
      }
      add(frame, offset, app, occurredAt)
    }
    dataEnd = offset + frame.length
  }

  private mutating func add(
    _ frame: FrameHeader, _ offset: Int, _ app: String, _ occurredAt: TimeRange, isDamaged: Bool = false
  ) {
    let entry = DirectoryEntry(
      offset: offset, length: frame.length, sequenceDelta: Int(frame.firstSequence - header.firstSequence),
      receivedDelta: frame.receivedAt.milliseconds - header.createdAt.milliseconds, events: frame.eventCount,
      flags: isDamaged ? .damaged : [])
    directory.add(
      entry, app: names.id(of: app), first: frame.firstSequence, receivedAt: frame.receivedAt, occurredAt: occurredAt)
    endSequence = frame.endSequence
  }

  /// A whole frame follows: what was broken before it is damage.
  private mutating func settlePending(before frame: FrameHeader) {
    guard !pending.isEmpty else { return }
    for item in pending {
      switch item {
      case .broken(let offset, let end, let header?, let app?):
        guard !header.isMark, header.firstSequence >= endSequence, header.endSequence <= frame.firstSequence else {
          damages.append(Damage(offset: offset, end: end, lost: endSequence..<endSequence, app: nil))
          continue
        }
        if header.firstSequence > endSequence && !self.header.isRewritten {
          lose(endSequence..<header.firstSequence, offset: dataEnd, end: offset)
        }
        damages.append(
          Damage(offset: offset, end: end, lost: header.firstSequence..<header.endSequence, app: app))
        add(header, offset, app, TimeRange(), isDamaged: true)
        dataEnd = end
      case .broken(let offset, let end, _, _), .nothing(let offset, let end):
        damages.append(Damage(offset: offset, end: end, lost: endSequence..<endSequence, app: nil))
      case .frame: break
      }
    }
    pending.removeAll()
    nameLost(through: frame.firstSequence)
  }

  /// Gives the numbers missing before `next` to the last damage that has none yet.
  private mutating func nameLost(through next: UInt64) {
    guard next > endSequence, let at = damages.lastIndex(where: { $0.lost.isEmpty }) else { return }
    let lost = endSequence..<next
    damages[at].lost = lost
    addUnknown(lost, offset: damages[at].offset)
  }

  private mutating func lose(_ lost: Range<UInt64>, offset: Int, end: Int) {
    damages.append(Damage(offset: offset, end: end, lost: lost, app: nil))
    addUnknown(lost, offset: offset)
  }

  /// Entries of no app, so that every number of the segment is in its directory.
  private mutating func addUnknown(_ lost: Range<UInt64>, offset: Int) {
    var first = lost.lowerBound
    while first < lost.upperBound {
      let count = min(lost.upperBound - first, UInt64(DirectoryEntry.eventsMax))
      let entry = DirectoryEntry(
        offset: offset, length: 0, sequenceDelta: Int(first - header.firstSequence), receivedDelta: 0,
        events: Int(count), flags: .damaged)
      directory.add(entry, app: .unknown, first: first, receivedAt: header.createdAt, occurredAt: TimeRange())
      first += count
    }
    endSequence = lost.upperBound
  }

  /// No whole frame follows any more: a torn write, damage, or simply the end.
  private mutating func settleTail(knownEnd: UInt64?, floor: UInt64) {
    let tail = pending
    pending = []
    for item in tail {
      let found: RecoveryDecision.Found
      let range: Range<Int>
      switch item {
      case .broken(let offset, let end, _, _): (found, range) = (.broken, offset..<end)
      case .nothing(let offset, let end): (found, range) = (.nothing, offset..<end)
      case .frame: continue
      }
      let isBelow = range.lowerBound < syncedOffset || (knownEnd ?? floor) > endSequence
      switch RecoveryDecision.decide(found, frameFollows: false, belowSynced: isBelow) {
      case .keep, .end: continue
      case .cutTornTail: torn = (torn?.lowerBound ?? range.lowerBound)..<range.upperBound
      case .damage:
        if found == .broken || knownEnd != nil {
          damages.append(
            Damage(offset: range.lowerBound, end: range.upperBound, lost: endSequence..<endSequence, app: nil))
        }
      }
    }
    guard let knownEnd, knownEnd > endSequence else { return }
    if header.isRewritten && damages.last?.lost.isEmpty != true {
      endSequence = knownEnd
      return
    }
    if damages.last?.lost.isEmpty != true {
      damages.append(Damage(offset: dataEnd, end: dataEnd, lost: endSequence..<endSequence, app: nil))
    }
    nameLost(through: knownEnd)
  }
}
