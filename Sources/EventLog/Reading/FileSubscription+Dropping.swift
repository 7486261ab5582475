import Clocks

extension FileSubscription {
  /// Counts what is still owed of the oldest segment as dropped; returns how many events that are.
  ///
  /// The record on disk is changed first, and for itself: what was acknowledged since it was written is not committed by
  /// this, since the destination's own files may not be safe yet.
  func drop(_ segment: Segment) throws(DiskError) -> Int {
    try commitMonitor.withLock { () throws(DiskError) in
      if monitor.withLock({ isDiscarded }) { return 0 }
      var record = monitor.withLock {
        drain()
        return committed
      }
      let count = dropFromRecord(&record, segment)
      if count > 0 { try store.write(record) }
      return monitor.withLock {
        if count > 0 { committed = record }
        committedOwed[segment.number] = nil
        yielding?.held[segment.number] = nil
        return dropFromLanes(segment)
      }
    }
  }

  private func dropFromRecord(_ record: inout PositionRecord, _ segment: Segment) -> Int {
    let shares = catalog.monitor.withLock { segment.allShares }
    let last = segment.endSequence - 1
    var total = 0
    for share in shares where share.frames > 0 && (share.app == .all) == (record.mode == .all) && share.app != .unknown
    {
      let name = catalog.names.name(of: share.app)
      let marks = record.marks(of: name)
      var cursor = DirectoryCursor(app: share.app)
      for gap in marks.unsettled(in: segment.firstSequence...last) {
        // A directory that can't be read says nothing: the books are balanced at the next start.
        total +=
          (try? catalog.lookThrough { () throws(LogError) in
            var count = 0
            try cursor.count(catalog, in: gap) { found, events in if found === segment { count += events } }
            return count
          }) ?? 0
      }
    }
    for name in record.lanes.keys { record.lanes[name]!.settle(through: last) }
    record.through = max(record.through, last + 1)
    record.settled.add(.droppedLogFull, UInt64(total))
    return total
  }

  private func dropFromLanes(_ segment: Segment) -> Int {
    let last = segment.endSequence - 1
    var total = 0
    for lane in lanes.values {
      let count = settle(lane, 0...last, assumed: owed[segment.number, default: 0])
      if lane.cursor <= last {
        lane.cursor = last + 1
        lane.epoch += 1
      }
      total += count
    }
    settled.add(.droppedLogFull, UInt64(total))
    owed[segment.number] = nil
    return total
  }
}
