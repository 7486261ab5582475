/// Walks the frames of one app, or of all, through the segments' directories, one chunk of entries in memory.
struct DirectoryCursor {
  let app: AppID
  private(set) var segment: Segment?
  /// The entry's place in the segment's list.
  private(set) var index = 0
  var chunk = -1
  var entries: [DirectoryEntry] = []

  init(app: AppID) { self.app = app }

  /// Goes to the first frame with events numbered `sequence` or above; false when there is none.
  mutating func seek(_ catalog: SegmentCatalog, to sequence: UInt64) throws(LogError) -> Bool {
    guard let target = catalog.segment(of: app, from: sequence) else { return false }
    if target !== segment { enter(target) }
    return try search(catalog, sequence)
  }

  private mutating func enter(_ segment: Segment) {
    self.segment = segment
    index = 0
    chunk = -1
    entries.removeAll(keepingCapacity: true)
  }

  /// The entry under the cursor; nil past the segment's last one.
  mutating func entry(_ catalog: SegmentCatalog) throws(LogError) -> DirectoryEntry? { try entry(catalog, at: index) }

  private mutating func entry(_ catalog: SegmentCatalog, at index: Int) throws(LogError) -> DirectoryEntry? {
    guard let segment else { return nil }
    let (wanted, place) = index.quotientAndRemainder(dividingBy: SegmentFooter.chunkEntries)
    if wanted != chunk || place >= entries.count {
      chunk = -1
      try catalog.readChunk(wanted, of: app, in: segment, into: &entries)
      chunk = wanted
    }
    return place < entries.count ? entries[place] : nil
  }

  /// Goes on by one frame, into the next segment where this one ends; false when there is none.
  mutating func advance(_ catalog: SegmentCatalog) throws(LogError) -> Bool {
    guard let segment else { return false }
    index += 1
    if try entry(catalog) != nil { return true }
    guard let next = catalog.segment(of: app, behind: segment) else {
      index -= 1
      return false
    }
    enter(next)
    return try entry(catalog) != nil
  }

  private mutating func search(_ catalog: SegmentCatalog, _ sequence: UInt64) throws(LogError) -> Bool {
    guard let segment else { return false }
    // Where the cursor stands, or one further, is where it is mostly wanted.
    if let here = try entry(catalog), here.first(in: segment) <= sequence {
      if here.last(in: segment) >= sequence { return true }
      if let next = try entry(catalog, at: index + 1), next.last(in: segment) >= sequence {
        index += 1
        return true
      }
    }
    var low = 0
    var high = catalog.share(of: app, in: segment)?.frames ?? 0
    while low < high {
      let middle = (low + high) / 2
      guard let entry = try entry(catalog, at: middle) else { return false }
      if entry.last(in: segment) >= sequence { high = middle } else { low = middle + 1 }
    }
    index = low
    return try entry(catalog) != nil
  }

  /// Counts the app's events with numbers in a range, segment by segment.
  mutating func count(
    _ catalog: SegmentCatalog, in range: ClosedRange<UInt64>, _ found: (Segment, Int) -> Void
  ) throws(LogError) {
    var sequence = range.lowerBound
    while sequence <= range.upperBound, let target = catalog.segment(of: app, from: sequence) {
      guard let share = catalog.share(of: app, in: target), share.first <= range.upperBound else { return }
      if share.first >= sequence && share.last <= range.upperBound {
        found(target, share.events)
      } else {
        if target !== segment { enter(target) }
        found(target, try countWithin(catalog, target, sequence...range.upperBound))
      }
      sequence = share.last + 1
    }
  }

  private mutating func countWithin(
    _ catalog: SegmentCatalog, _ segment: Segment, _ range: ClosedRange<UInt64>
  ) throws(LogError) -> Int {
    guard try search(catalog, range.lowerBound) else { return 0 }
    var total = 0
    var at = index
    while let entry = try entry(catalog, at: at) {
      let first = max(entry.first(in: segment), range.lowerBound)
      let last = min(entry.last(in: segment), range.upperBound)
      if first > last { break }
      total += Int(last - first) + 1
      at += 1
    }
    index = max(0, at - 1)
    return total
  }
}

extension DirectoryCursor {
  /// Frames that lie close enough together to be read with one call.
  struct Run {
    var offset: Int
    var length: Int
    var frames: Int
  }

  /// The run that begins at the cursor's entry, no longer than the limit calls for.
  mutating func run(
    _ catalog: SegmentCatalog, from first: DirectoryEntry, limit: ReadLimit, through last: UInt64
  ) throws(LogError) -> Run {
    var run = Run(offset: first.offset, length: first.length, frames: 1)
    guard let segment, !limit.separatesRequests else { return run }
    var events = first.count
    var bytes = first.length
    while events < limit.events, bytes < limit.bytes, let next = try loaded(index + run.frames), !next.isDamaged,
      next.first(in: segment) <= last, next.offset >= run.offset + run.length,
      next.offset - (run.offset + run.length) <= LaneReader.gapMax, bytes + next.length <= limit.bytes
    {
      events += next.count
      bytes += next.length
      run.length = next.end - run.offset
      run.frames += 1
    }
    return run
  }

  /// An entry of the chunk in memory.
  private func loaded(_ index: Int) throws(LogError) -> DirectoryEntry? {
    let place = index - chunk * SegmentFooter.chunkEntries
    return place >= 0 && place < entries.count ? entries[place] : nil
  }
}
