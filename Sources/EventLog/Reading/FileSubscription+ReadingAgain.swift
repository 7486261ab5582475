import Glibc

extension FileSubscription {
  /// Ranges no further apart than this many numbers are read as one: they likely share a frame.
  private static var gapMax: UInt64 { 256 }

  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool {
    while true {
      batch.removeAll()
      do throws(LogError) {
        try readGroups(lane, ranges, limit, into: batch)
        return !batch.events.isEmpty
      } catch {
        guard error.isSegmentRemoved || isReadingRemovedSegment(lane) else {
          batch.removeAll()
          throw error
        }
        // What the segment held of the lane went along, or is in another now.
        sched_yield()
      }
    }
  }

  private func readGroups(
    _ lane: Lane, _ ranges: [ClosedRange<UInt64>], _ limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) {
    var start = 0
    var bytes = 0
    while start < ranges.count, batch.events.count < limit.events,
      !limit.separatesRequests || batch.events.isEmpty
    {
      var end = start + 1
      while end < ranges.count, ranges[end].lowerBound - ranges[end - 1].upperBound <= Self.gapMax { end += 1 }
      let before = batch.events.count
      guard try read(lane, ranges[start..<end], limit, bytes, into: batch) else { return }
      for event in batch.events[before...] { bytes += event.index.length + 1 }
      start = end
    }
  }

  /// Reads ranges that lie together behind what the batch holds; false when no more fits.
  private func read(
    _ lane: Lane, _ ranges: ArraySlice<ClosedRange<UInt64>>, _ limit: ReadLimit, _ bytes: Int, into batch: EventBatch
  ) throws(LogError) -> Bool {
    let found = monitor.withLock { () -> (LaneState, LaneReader.Request)? in
      drain()
      guard let state = state(lane), state.pending > 0, let first = ranges.first, let last = ranges.last else {
        return nil
      }
      let from = max(first.lowerBound, state.marks.low + 1)
      let through = min(last.upperBound, limit.lastSequence, seen - 1)
      guard from <= through else { return nil }
      return (
        state,
        LaneReader.Request(
          from: from, through: through, limit: limit, settled: state.marks.above,
          wanted: ranges.count > 1 ? IntervalSet(Array(ranges)) : nil,
          before: batch.events.last.map { (bytes, $0.kind.rawValue) })
      )
    }
    guard let (state, request) = found else { return true }
    let result = try state.again.read(request, into: batch, from: context)
    monitor.withLock {
      guard lanes[state.app] === state else { return }
      for range in result.lost {
        settled.add(.lost, UInt64(settle(state, range, assumed: Int(range.upperBound - range.lowerBound) + 1)))
      }
    }
    return result.isAtEnd
  }

  private func isReadingRemovedSegment(_ lane: Lane) -> Bool {
    monitor.withLock { state(lane)?.again }?.isSegmentRemoved(catalog) == true
  }
}
