import Observability

extension LogKeeper {
  /// Has destinations that yield give up what they don't hold of some segments.
  ///
  /// Called with the files' lock held.
  /// - Returns: those that nobody is owed anything of then, as is on disk.
  func yielded(_ segments: [Segment]) -> [Segment] {
    guard !segments.isEmpty else { return [] }
    let yielding = all.filter(\.isYielding)
    for subscription in yielding {
      do throws(DiskError) {
        let count = try subscription.giveUp(segments)
        guard count > 0 else { continue }
        logger.info(
          "events that came after a destination was removed have gone with their segments",
          about: subscription.destination,
          ["events": .integer(count)])
      } catch {
        logger.warning(
          "segments stay, since a removed destination's positions can't be written", about: subscription.destination,
          ["why": .text(error.description)])
      }
    }
    // Who yielded when the segments were chosen may have been taken back since: it is owed what it would have given up.
    let all = all
    return segments.filter { segment in
      let end = catalog.monitor.withLock { segment.endSequence }
      return all.allSatisfy { $0.frees(segment, end: end) }
    }
  }
}
