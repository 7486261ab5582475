import Clocks

extension FileSubscription {
  func pendingEvents(datedBefore moment: Timestamp) throws(LogError) -> Int? {
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
        count += try countDated(before: moment, lane.marks, in: segment, &cursor)
      }
    }
    return count
  }

  /// Looks into the index of each frame of a segment that has events so old.
  private func countDated(
    before moment: Timestamp, _ marks: LaneMarks, in segment: Segment, _ cursor: inout DirectoryCursor
  ) throws(LogError) -> Int {
    guard try cursor.seek(catalog, to: max(marks.low + 1, segment.firstSequence)) else { return 0 }
    let file = try catalog.file(of: segment)
    var count = 0
    var bytes = [UInt8]()
    while cursor.segment === segment, let entry = try cursor.entry(catalog) {
      let wanted = min(entry.length, FrameHeader.size + FrameHeader.appLengthMax + entry.count * EventIndex.encodedSize)
      if bytes.count < wanted { bytes = [UInt8](repeating: 0, count: wanted * 2) }
      // A frame that can't be read is counted when somebody reads its events.
      count += bytes.withUnsafeMutableBytes { buffer in
        let start = buffer.baseAddress!
        let target = UnsafeMutableRawBufferPointer(start: start, count: wanted)
        guard !entry.isDamaged, (try? file.read(into: target, at: entry.offset)) == wanted,
          case .header(let header) = FrameHeader.read(start, available: entry.length, life: segment.life),
          header.indexOffset + header.indexLength <= wanted
        else { return 0 }
        return (0..<header.eventCount).count { i in
          guard !marks.isSettled(header.firstSequence + UInt64(i)) else { return false }
          let event = EventIndex(UnsafeRawPointer(start) + header.indexOffset + i * EventIndex.encodedSize)
          return (event.flags.contains(.clamped) ? header.receivedAt : event.occurredAt) < moment
        }
      }
      guard try cursor.advance(catalog) else { break }
    }
    return count
  }
}
