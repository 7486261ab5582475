/// Counts events against a limit for any window of time, so that none of the limiters an upstream may use sees more.
///
/// The upstream counts a request at a moment nobody here knows, between its start and its answer. So its events count from
/// the start on, and until a whole window after the answer, or after the failure when there was none.
struct SlidingCount: Sendable, Equatable {
  private struct Slot: Sendable, Equatable {
    /// Its events stop counting then.
    var end: ContinuousClock.Instant
    var events: Int
  }

  /// Moments are rounded up to the next of so many parts of the window: memory against exactness.
  let parts: Int
  let window: Duration
  private var slots: [Slot] = []
  private var first = 0
  private var answered = 0
  /// Events of requests under way.
  private(set) var underWay = 0

  /// - Parameter parts: how many slots are kept at most.
  init(window: Duration = .seconds(60), parts: Int) {
    self.window = window
    self.parts = parts
  }

  /// Slots in memory, those included that count no more; for tests.
  var kept: Int { slots.count }

  /// Nothing of it counts any more.
  func isIdle(at now: ContinuousClock.Instant) -> Bool { underWay == 0 && (slots.last.map { $0.end <= now } ?? true) }

  /// Events that count at this moment.
  mutating func used(at now: ContinuousClock.Instant) -> Int {
    forget(at: now)
    return underWay + answered
  }

  /// A request goes out.
  mutating func take(_ events: Int) { underWay += events }

  /// A request has been answered, or has failed: its events count for one more window.
  mutating func settle(_ events: Int, at now: ContinuousClock.Instant) {
    underWay -= events
    add(events, until: now + window)
  }

  /// A request was refused and not counted.
  mutating func giveBack(_ events: Int) { underWay -= events }

  /// Counts events until a moment, whatever they were.
  mutating func add(_ events: Int, until end: ContinuousClock.Instant) {
    guard events > 0 else { return }
    let step = window / parts
    answered += events
    if let last = slots.last, end <= last.end {
      slots[slots.count - 1].events += events
    } else {
      slots.append(Slot(end: end + step, events: events))
    }
  }

  private mutating func forget(at now: ContinuousClock.Instant) {
    while first < slots.count, slots[first].end <= now {
      answered -= slots[first].events
      first += 1
    }
    if first == slots.count {
      slots.removeAll(keepingCapacity: true)
      first = 0
    } else if first * 2 >= parts {
      // (There is one for each install: what is over must not take more room than what counts.)
      slots.removeFirst(first)
      first = 0
    }
  }

  /// When there is room for more events.
  enum Room: Sendable, Equatable {
    case now
    case at(ContinuousClock.Instant)
    /// Not before a request under way has been answered.
    case afterAnswers
  }

  mutating func room(for events: Int, limit: Int, at now: ContinuousClock.Instant) -> Room {
    forget(at: now)
    var left = underWay + answered
    if left + events <= limit { return .now }
    for slot in slots[first...] {
      left -= slot.events
      if left + events <= limit { return .at(slot.end) }
    }
    return .afterAnswers
  }
}
