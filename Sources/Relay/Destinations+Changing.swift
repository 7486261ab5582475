import Clocks
import Configuration
import Dedupe
import EventLog
import JSON
import Observability

/// Sinks that come, go and change while the relay runs.
extension Destinations {
  /// So long a sink that is to stop goes on with what it does; then it settles what is written.
  static let stopTime: Duration = .milliseconds(300)

  /// Stops sinks, all at once; each settles what it has written, and keeps its place in the log.
  ///
  /// - Parameter removing: those among them that are not configured any more, which stay as removed ones. The places of the
  ///   others are taken back when they are made anew.
  /// - Returns: why those that didn't end didn't, by name.
  func stop(sinks names: [String], removing: [String], keep: Duration) async -> [String: String] {
    let stopping = all.filter { names.contains($0.name) }
    let deadline = ContinuousClock.now + Self.stopTime
    await withTaskGroup(of: Void.self) { group in
      for sink in stopping { group.addTask { await sink.stop(until: deadline) } }
    }
    var failures: [String: String] = [:]
    changing.withLock { _ in
      for sink in stopping {
        do throws(RelayError) {
          try checkEnd(of: sink)
          guard removing.contains(sink.name) else { continue }
          try takeBack(sink)
          try remove(sink, keep: keep)
        } catch {
          failures[sink.name] = error.description
        }
      }
    }
    dropExpired()
    return failures
  }

  /// Makes sinks and starts them. One that was removed, or was there before, goes on where that was.
  ///
  /// - Returns: why those that couldn't be made couldn't, by name.
  func start(sinks: [RelayConfiguration.Sink]) -> [String: String] {
    changing.withLock { _ in make(sinks) }
  }

  private func make(_ sinks: [RelayConfiguration.Sink]) -> [String: String] {
    var failures: [String: String] = [:]
    for sink in sinks {
      do {
        if let before = all.first(where: { $0.name == sink.name }) {
          if let before = before as? RemovedSink, removed.entry(sink.name)?.isGivenUp == true {
            try discard(before)
          } else {
            try takeBack(before)
          }
        }
        let made = try factory.make(sink)
        change { all in
          let at = all.firstIndex { $0.name == sink.name }
          if let at, !(all[at] is RemovedSink) {
            all[at] = made
          } else {
            all.removeAll { $0.name == sink.name }
            all.insert(made, at: all.firstIndex { $0 is RemovedSink } ?? all.endIndex)
          }
        }
        removed.forget([sink.name])
        made.start()
      } catch {
        failures[sink.name] = "\(error)"
      }
    }
    return failures
  }

  private func checkEnd(of sink: any Destination) throws(RelayError) {
    guard sink.hasEnded else {
      throw RelayError(
        "sink \(sink.name) has not ended yet, since a call to its disk doesn't return; reload again when that answers")
    }
  }

  private func takeBack(_ sink: any Destination) throws(RelayError) {
    try checkEnd(of: sink)
    do throws(LogError) {
      try storage.log.takeBack(sink.name)
    } catch {
      throw RelayError("sink \(sink.name)'s place in the log can't be taken up: \(error)")
    }
  }
}
