import Synchronization

/// A line on the terminal that shows how far work has come, drawn at most ten times a second.
struct ProgressBar {
  static let interval: Duration = .milliseconds(100)
  /// Back to the line's begin, and the rest of it cleared.
  static let clear = "\r\u{1B}[K"

  let width: Int
  private var drawn: ContinuousClock.Instant?

  init(width: Int) { self.width = width }

  /// What to write now; nil when the last frame is too fresh.
  ///
  /// - Parameter share: how much is done, 0 to 1; nil when nobody knows.
  mutating func frame(share: Double?, _ text: String, at now: ContinuousClock.Instant) -> String? {
    if let drawn, now - drawn < Self.interval { return nil }
    drawn = now
    return Self.clear + line(share: share, text)
  }

  func line(share: Double?, _ text: String) -> String {
    // One column stays free: a full line would wrap on some terminals.
    let room = max(width - 1, 0)
    let bar = share.map { self.bar($0, room: room, text) } ?? ""
    return String((bar + text).prefix(room))
  }

  private func bar(_ share: Double, room: Int, _ text: String) -> String {
    let share = min(max(share, 0), 1)
    let percent = "\(Int(share * 100))%"
    let padded = String(repeating: " ", count: 4 - percent.count) + percent
    let cells = min(30, room - text.count - padded.count - 4)
    guard cells >= 5 else { return "\(padded) " }
    let full = Int(share * Double(cells))
    return "[\(String(repeating: "#", count: full))\(String(repeating: " ", count: cells - full))] \(padded) "
  }
}

/// Progress on the terminal, and nothing of it elsewhere.
final class Progress: Sendable {
  private let output: Output
  private let bar: Mutex<ProgressBar?>
  private let isDrawn = Mutex(false)

  init(_ output: Output) {
    self.output = output
    bar = Mutex(output.terminal.map { ProgressBar(width: $0.width) })
  }

  func show(share: Double?, _ text: String) {
    guard let frame = bar.withLock({ $0?.frame(share: share, text, at: .now) }) else { return }
    isDrawn.withLock { $0 = true }
    output.error(frame, terminator: "")
  }

  /// Takes the bar away, so that something else can be said.
  func clear() {
    guard
      isDrawn.withLock({ was in
        defer { was = false }; return was
      })
    else { return }
    output.error(ProgressBar.clear, terminator: "")
  }

  /// Says something that stays, in the bar's place.
  func say(_ text: String) {
    clear()
    output.error(text)
  }
}
