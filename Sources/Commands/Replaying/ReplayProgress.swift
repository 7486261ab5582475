import Synchronization

/// Shows how far replays have come, with their speed and the time they will take.
final class ReplayProgress: Sendable {
  private let progress: Progress
  private let began = ContinuousClock.now
  private let warned = Mutex<Set<String>>([])

  init(_ output: Output) { progress = Progress(output) }

  func show(_ replays: [ReplayAnswer], isDryRun: Bool, at now: ContinuousClock.Instant = .now) {
    for replay in replays where replay.state != "counting" && replay.clamped > 0 && !isDryRun {
      guard warned.withLock({ $0.insert(replay.id).inserted }) else { continue }
      progress.say(Self.clampWarning(replay.clamped, of: replay.matched))
    }
    guard let current = replays.first(where: { !$0.isOver }) else { return }
    if current.state == "counting" {
      return progress.show(share: nil, "\(current.destination): counting, \(current.matched) events by now")
    }
    let share = current.matched > 0 ? Double(current.sent) / Double(current.matched) : 1
    progress.show(share: share, Self.line(current, elapsed: (now - began) / .seconds(1)))
  }

  func clear() { progress.clear() }

  /// - Parameter elapsed: seconds since the replay was asked for.
  static func line(_ replay: ReplayAnswer, elapsed: Double) -> String {
    var text = "\(replay.destination): \(replay.sent) of \(replay.matched) events"
    let done = replay.sent - replay.sentBefore
    guard done > 0, elapsed > 0.5 else { return text }
    let rate = Double(done) / elapsed
    text += ", \(Int(rate))/s"
    let left = Int((Double(replay.matched - replay.sent) / rate).rounded(.up))
    return left > 0 ? text + ", \(time(left)) left" : text
  }

  private static func time(_ seconds: Int) -> String {
    if seconds < 120 { return "\(seconds) s" }
    return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h \(seconds % 3600 / 60) min"
  }

  static func clampWarning(_ clamped: Int, of matched: Int) -> String {
    "warning: \(clamped) of \(matched) events are older than 7 days; the upstream gives them the time they arrive there "
      + "as their occurred_at"
  }
}
