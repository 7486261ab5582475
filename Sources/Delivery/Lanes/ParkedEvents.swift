/// A lane's events that wait because of their install: it has used its limit up, or an event of it is under way.
///
/// What was parked of an install goes before everything else of it, in its order. References only, and no more than
/// ``runsMax``: past them the lane reads no further until some are gone; nothing is lost by it but time.
///
/// A run is events with numbers that follow one another, so that the bound is met by what lies scattered.
struct ParkedEvents: Sendable {
  /// How often an install's first events were sent before they were parked.
  struct Sent: Sendable, Equatable {
    /// The last of them.
    var through: UInt64
    var tries: Tries

    func tries(of number: UInt64) -> Tries { number <= through ? tries : Tries() }
  }

  private struct Install: Sendable {
    var events = EventRanges()
    var sent: Sent?
    /// When the next of it may go; nil: after an answer.
    var due: ContinuousClock.Instant?
    var isWaitingForAnswer = false

    /// Tells how many events there were before, and how many runs more there are now. (Works in place: a copy for each event would be quadratic.)
    mutating func add(_ number: UInt64, follows: Bool) -> (before: Int, runs: Int) {
      let (count, runs) = (events.count, events.runs.count)
      if let last = events.last, number <= last {
        events.insert(number)
      } else {
        // (What follows in the lane may do so because what was between is settled, which costs an interval all the same.)
        events.append(number, follows: follows && events.last.map { $0 + 1 == number } ?? false)
      }
      return (count, events.runs.count - runs)
    }
  }

  /// Over all lanes: each run may cost the positions on disk an interval.
  static let runsMax = 200_000

  /// What this lane may have of it.
  var runsMax: Int
  private var installs: [UInt64: Install] = [:]
  private var order = DeadlineQueue<UInt64>()
  /// Whose turn it is.
  private var ready: [UInt64] = []
  private var readyHead = 0
  private(set) var count = 0
  private(set) var runs = 0
  private var sizes = ParkedSizes()

  init(runsMax: Int = Self.runsMax) { self.runsMax = runsMax }

  var isEmpty: Bool { installs.isEmpty }
  var installCount: Int { installs.count }
  var isFull: Bool { runs >= runsMax }
  /// Events of the install with the most of them.
  var longest: Int { sizes.most }

  /// Whether an event has to wait behind one of its install that is parked.
  func isBlocked(_ install: UInt64, _ number: UInt64) -> Bool {
    guard let first = installs[install]?.events.first else { return false }
    return first < number
  }

  /// Parks an event.
  ///
  /// - Parameters:
  ///   - follows: in the lane it comes right behind the last event that was parked of this install.
  ///   - room: when the install may go on.
  mutating func park(_ install: UInt64, _ number: UInt64, follows: Bool = false, room: SlidingCount.Room) {
    let isNew = installs[install] == nil
    let added = installs[install, default: Install()].add(number, follows: follows)
    let size = installs[install]?.events.count ?? 0
    sizes.change(from: added.before, to: size)
    count += size - added.before
    runs += added.runs
    if isNew { schedule(install, room) }
  }

  /// Notes that what is parked of an install was sent before, as far as that goes.
  mutating func note(_ install: UInt64, _ sent: Sent) {
    guard let entry = installs[install] else { return }
    let known = entry.sent ?? sent
    installs[install]?.sent = Sent(
      through: max(known.through, sent.through), tries: known.tries.most(sent.tries))
  }

  /// How often an event that is parked was sent.
  func tries(_ install: UInt64, _ number: UInt64) -> Tries? { installs[install]?.sent?.tries(of: number) }

  private mutating func schedule(_ install: UInt64, _ room: SlidingCount.Room) {
    installs[install]?.due = nil
    installs[install]?.isWaitingForAnswer = false
    switch room {
    case .now: ready.append(install)
    case .at(let moment):
      installs[install]?.due = moment
      order.add(moment, install)
    case .afterAnswers: installs[install]?.isWaitingForAnswer = true
    }
  }

  /// A request has been answered that held events of the install.
  mutating func answered(_ install: UInt64) {
    guard installs[install]?.isWaitingForAnswer == true else { return }
    schedule(install, .now)
  }

  /// Limits have changed: those that wait for a moment are looked at now.
  mutating func lookAgain() {
    order = DeadlineQueue()
    for (install, entry) in installs where entry.due != nil { schedule(install, .now) }
  }

  /// When the next install may go on; nil when none waits for a moment.
  var nextDue: ContinuousClock.Instant? { order.earliest }

  /// Whether an install may go on now.
  mutating func isReady(at now: ContinuousClock.Instant) -> Bool {
    while let entry = order.take(dueAt: now) {
      let install = entry.subject
      guard installs[install]?.due == entry.deadline else { continue }
      schedule(install, .now)
    }
    return readyHead < ready.count
  }

  /// Takes out the install whose turn it is, with all its events; those that don't go now are parked again.
  mutating func takeNext(at now: ContinuousClock.Instant) -> (install: UInt64, events: EventRanges, sent: Sent?)? {
    guard isReady(at: now) else { return nil }
    while readyHead < ready.count {
      let install = ready[readyHead]
      readyHead += 1
      if readyHead == ready.count || readyHead > 1024 {
        ready.removeFirst(readyHead)
        readyHead = 0
      }
      guard let entry = installs[install], entry.due == nil, !entry.isWaitingForAnswer else { continue }
      installs[install] = nil
      count -= entry.events.count
      runs -= entry.events.runs.count
      sizes.change(from: entry.events.count, to: 0)
      return (install, entry.events, entry.sent)
    }
    return nil
  }

  /// Parks what was taken out and didn't go.
  mutating func putBack(_ install: UInt64, _ events: EventRanges, room: SlidingCount.Room, tries sent: Sent? = nil) {
    guard !events.isEmpty else { return }
    precondition(installs[install] == nil, "an install is parked once")
    installs[install] = Install(events: events, sent: sent)
    sizes.change(from: 0, to: events.count)
    count += events.count
    runs += events.runs.count
    schedule(install, room)
  }

  mutating func removeAll() { self = ParkedEvents(runsMax: runsMax) }
}
