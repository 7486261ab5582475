import Glibc
import Observability

extension FileSubscription {
  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool {
    while true {
      batch.removeAll()
      guard let (state, request, epoch) = begin(lane, limit) else { return false }
      let result: LaneReader.Result
      do throws(LogError) {
        result = try state.reader.read(request, into: batch, from: context)
      } catch {
        batch.removeAll()
        // A segment that was taken out meanwhile took what it held of the lane along: there is a new place to read on.
        if error.isSegmentRemoved || state.reader.isSegmentRemoved(catalog) {
          sched_yield()
          continue
        }
        throw error
      }
      switch finish(state, result, epoch, hasEvents: !batch.events.isEmpty) {
      case .done: return true
      case .nothing: return false
      case .again: continue
      }
    }
  }

  /// What to read; nil when nothing may be.
  private func begin(_ lane: Lane, _ limit: ReadLimit) -> (LaneState, LaneReader.Request, Int)? {
    monitor.withLock {
      drain()
      guard let state = state(lane), state.isReady else { return nil }
      // So many parked events that their positions would grow without bound: the oldest must be settled first.
      guard state.marks.above.count < tuning.intervalsMax else {
        logger.warning(
          "a lane has too many settled ranges behind its oldest waiting event: it is not read further until that is settled",
          about: destination)
        return nil
      }
      let from = max(state.cursor, state.marks.low + 1)
      let through = min(limit.lastSequence, seen - 1)
      guard from <= through else { return nil }
      let above = state.marks.above
      return (
        state,
        LaneReader.Request(
          from: from, through: through, limit: limit,
          settled: above.last.map { $0.upperBound >= from } == true ? above : IntervalSet()),
        state.epoch
      )
    }
  }

  private enum Finish {
    case done, nothing, again
  }

  private func finish(_ state: LaneState, _ result: LaneReader.Result, _ epoch: Int, hasEvents: Bool) -> Finish {
    monitor.withLock {
      // Put back or dropped meanwhile: what was read is read again from where the lane stands now.
      guard state.epoch == epoch, lanes[state.app] === state else { return .again }
      for range in result.lost {
        let count = settle(state, range, assumed: Int(range.upperBound - range.lowerBound) + 1)
        settled.add(.lost, UInt64(count))
      }
      state.cursor = max(state.cursor, result.next)
      if !state.isReady { ready.remove(state.app) }
      if hasEvents { return .done }
      if result.isAtEnd { recount(state) }
      return result.isAtEnd && result.lost.isEmpty ? .nothing : .again
    }
  }

  /// Finds what a segment's footer promised and its frames, read through since, don't hold: damage that took the name of
  /// an app along.
  private func recount(_ state: LaneState) {
    let (rebuilt, rebuilds) = catalog.monitor.withLock { (catalog.rebuilt, catalog.rebuilds) }
    guard rebuilds > state.rebuildsSeen, seen > state.marks.low + 1 else { return }
    var found = 0
    do throws(LogError) {
      for gap in state.marks.unsettled(in: state.marks.low + 1...seen - 1) {
        try state.directory.count(catalog, in: gap) { _, events in found += events }
      }
    } catch { return }
    state.rebuildsSeen = rebuilds
    var missing = state.pending - found
    guard missing > 0 else { return }
    settled.add(.lost, UInt64(missing))
    state.pending -= missing
    for segment in rebuilt where missing > 0 {
      let part = min(missing, owed[segment.number, default: 0])
      owed[segment.number, default: 0] -= part
      missing -= part
    }
    if state.pending == 0 { settleEmpty(state) }
  }
}
