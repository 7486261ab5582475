import Clocks

extension FileSubscription {
  func pendingEvents(
    datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool
  ) throws(LogError) -> Int? {
    try catalog.lookThrough { () throws(LogError) in try countPending(datedBefore: moment, isWanted) }
  }

  func earliestPendingDate(ofDialects isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp? {
    try catalog.lookThrough { () throws(LogError) in try findEarliestDate(isWanted) }
  }

  func pendingNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64] {
    try catalog.lookThrough { () throws(LogError) in
      try findNumbers(lane, datedBefore: moment, isWanted, atMost: limit)
    }
  }

  private func countPending(
    datedBefore moment: Timestamp, _ isWanted: (UInt8) -> Bool
  ) throws(LogError) -> Int {
    let owed = monitor.withLock {
      drain()
      return lanes.values.filter { $0.pending > 0 }.map { (app: $0.app, marks: $0.marks) }
    }
    var count = 0
    for lane in owed {
      var cursor = DirectoryCursor(app: lane.app)
      for segment in catalog.all {
        guard let share = catalog.share(of: lane.app, in: segment), share.last > lane.marks.low,
          share.occurredAt.earliest < moment || share.receivedAt.earliest < moment
        else { continue }
        try forEachDate(lane.marks, in: segment, &cursor, isWanted) { _, date in if date < moment { count += 1 } }
      }
    }
    return count
  }

  private func findEarliestDate(_ isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp? {
    let owed = monitor.withLock {
      drain()
      return lanes.values.filter { $0.pending > 0 }.map { (app: $0.app, marks: $0.marks) }
    }
    // Those that can hold the earliest come first; the others mostly needn't be looked into.
    var places: [(bound: Timestamp, lane: Int, segment: Segment)] = []
    for (lane, entry) in owed.enumerated() {
      for segment in catalog.all {
        guard let share = catalog.share(of: entry.app, in: segment), share.last > entry.marks.low else { continue }
        places.append((min(share.occurredAt.earliest, share.receivedAt.earliest), lane, segment))
      }
    }
    var earliest: Timestamp?
    for place in places.sorted(by: { $0.bound < $1.bound }) {
      if let earliest, place.bound >= earliest { break }
      var cursor = DirectoryCursor(app: owed[place.lane].app)
      try forEachDate(owed[place.lane].marks, in: place.segment, &cursor, isWanted) { _, date in
        earliest = min(earliest ?? date, date)
      }
    }
    return earliest
  }

  private func findNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, _ isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64] {
    let owed = monitor.withLock {
      drain()
      return state(lane).flatMap { $0.pending > 0 ? ($0.app, $0.marks) : nil }
    }
    guard let (app, marks) = owed else { return [] }
    var numbers: [UInt64] = []
    var cursor = DirectoryCursor(app: app)
    for segment in catalog.all where numbers.count < limit {
      guard let share = catalog.share(of: app, in: segment), share.last > marks.low,
        share.occurredAt.earliest < moment || share.receivedAt.earliest < moment
      else { continue }
      try forEachDate(marks, in: segment, &cursor, isWanted) { number, date in
        if date < moment, numbers.count < limit { numbers.append(number) }
      }
    }
    return numbers
  }

  /// Looks into the index of each frame of a segment whose protocol is wanted: tells the number and the date of each event that is owed.
  private func forEachDate(
    _ marks: LaneMarks, in segment: Segment, _ cursor: inout DirectoryCursor, _ isWanted: (UInt8) -> Bool,
    _ body: (UInt64, Timestamp) -> Void
  ) throws(LogError) {
    try lookIntoFrames(marks, in: segment, &cursor, isWanted, body)
    // Then the cursor has gone by it, to the one in its place.
    if catalog.monitor.withLock({ segment.isRemoved }) { throw LogError.segmentRemoved }
  }

  private func lookIntoFrames(
    _ marks: LaneMarks, in segment: Segment, _ cursor: inout DirectoryCursor, _ isWanted: (UInt8) -> Bool,
    _ body: (UInt64, Timestamp) -> Void
  ) throws(LogError) {
    guard try cursor.seek(catalog, to: max(marks.low + 1, segment.firstSequence)) else { return }
    let file = try catalog.file(of: segment)
    var bytes = [UInt8]()
    while cursor.segment === segment, let entry = try cursor.entry(catalog) {
      let wanted = min(entry.length, FrameHeader.size + FrameHeader.appLengthMax + entry.count * EventIndex.encodedSize)
      if bytes.count < wanted { bytes = [UInt8](repeating: 0, count: wanted * 2) }
      // A frame that can't be read is counted when somebody reads its events.
      bytes.withUnsafeMutableBytes { buffer in
        let start = buffer.baseAddress!
        let target = UnsafeMutableRawBufferPointer(start: start, count: wanted)
        guard !entry.isDamaged, (try? file.read(into: target, at: entry.offset)) == wanted,
          case .header(let header) = FrameHeader.read(start, available: entry.length, life: segment.life),
          header.indexOffset + header.indexLength <= wanted, isWanted(header.dialect)
        else { return }
        for i in 0..<header.eventCount {
          let number = header.firstSequence + UInt64(i)
          if marks.isSettled(number) { continue }
          let event = EventIndex(UnsafeRawPointer(start) + header.indexOffset + i * EventIndex.encodedSize)
          body(number, event.date(receivedAt: header.receivedAt))
        }
      }
      guard try cursor.advance(catalog) else { break }
    }
  }
}
