import Clocks
import JSON
import Observability
import TestSupport
import Testing

@testable import EventLog

/// Runs a log through random days and nights, and knows what must come of it.
///
/// The model is simple: every event that was answered is owed to each destination until it was acknowledged and that was
/// committed, or is in the books as dropped or lost, with the damage that excuses a loss.
struct LogModel {
  struct Event: Equatable {
    var app: String
    var serial: Int
  }

  /// What a destination had settled when it committed.
  struct Commit {
    var number: Int
    var settled: Set<UInt64>
    var tally: Tally
  }

  struct Reader {
    var name: String
    var isAll: Bool
    /// Settled now, and as it may be on disk: the last commit, and one whose outcome nobody knows.
    var now = Commit(number: 0, settled: [], tally: Tally())
    var onDisk: [Commit] = [Commit(number: 0, settled: [], tally: Tally())]
    var subscription: (any Subscription)!
    /// Read and not acknowledged, by lane.
    var outstanding: [Lane: [UInt64]] = [:]
    var commits = 0
  }

  let seed: UInt64
  var random: SeededGenerator
  let disk = SimulatedDisk()
  var fixture: LogFixture
  var log: FileLog!
  var readers: [Reader]
  /// Answered events by number, and those nobody knows of.
  var stored: [UInt64: Event] = [:]
  var unknown: [(first: UInt64?, app: String, serials: Range<Int>)] = []
  var staged: [(app: String, serials: Range<Int>, box: OutcomeBox)] = []
  /// Gone by damage done here, or never answered.
  var mayBeLost = false
  /// What is refused now comes back if the relay dies before it can clear it away.
  var isDiskFull = false
  var nextSerial = 1
  let batch = EventBatch(capacity: 2048)
  var faults: [String] = []
  var isVerbose = false

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    fixture = LogFixture(directory: "/data", disk: disk)
    let dropping = random.once(in: 4)
    fixture.configuration = FileLogConfiguration(
      durability: .fsync, segmentSize: 4096, maxSize: dropping ? 24 * 1024 : 1 << 20,
      onFull: dropping ? .dropOldest : .reject, minFreeDisk: 0)
    fixture.tuning.stagingSize = 160 * 1024
    fixture.tuning.retryAfterNoSpace = .zero
    fixture.tuning.rewriteAtOnce()
    fixture.tuning.rewriteBelow = 0.6
    var lives = SeededGenerator(seed: seed ^ 0xABCD)
    let drawn = (0..<4096).map { _ in lives.next() }
    let next = Counter()
    fixture.tuning.random = {
      next.add()
      return drawn[Int(next.value) % drawn.count]
    }
    readers = [Reader(name: "lanes", isAll: false), Reader(name: "all", isAll: true)]
  }

  mutating func fault(_ text: String) { faults.append(text) }

  /// Tells what is done, for whoever looks into one seed.
  func note(_ step: @autoclosure () -> String) { if isVerbose { print(step()) } }

  // MARK: Life and death

  mutating func open() throws {
    fixture.metrics = MetricsRegistry()
    log = try fixture.open()
    for at in readers.indices {
      readers[at].subscription = try log.subscribe(readers[at].name, origin: .oldest)
      readers[at].outstanding = [:]
    }
  }

  /// Now and then the power goes again while the log is being opened.
  private mutating func openWithMishaps() throws {
    while random.once(in: 4) {
      let changes = random.below(10)
      note("power goes after \(changes) changes of opening")
      disk.cutPower(afterChanges: changes)
      if let log = try? fixture.open() { log.syncInline() }
      disk.powerCycle(&random)
    }
    try open()
    if log.health != .ok, log.health != .full { fault("opened and not well: \(log.health)") }
  }

  /// What isn't answered by now may be in the log or not.
  private mutating func forgetStaged() {
    settleOutcomes()
    for frame in staged { unknown.append((nil, frame.app, frame.serials)) }
    staged = []
  }

  mutating func settleOutcomes() {
    var left: [(app: String, serials: Range<Int>, box: OutcomeBox)] = []
    for frame in staged {
      switch frame.box.outcome {
      case .stored(let first):
        for (i, serial) in frame.serials.enumerated() {
          let sequence = first + UInt64(i)
          if stored[sequence] != nil { fault("number \(sequence) was given twice") }
          stored[sequence] = Event(app: frame.app, serial: serial)
        }
      case .refused(.diskFull) where isDiskFull: unknown.append((nil, frame.app, frame.serials))
      case .refused(.failed): unknown.append((nil, frame.app, frame.serials))
      case .refused: break
      case nil: left.append(frame)
      }
      if frame.box.all.count > 1 { fault("an append was answered twice") }
    }
    staged = left
  }

  mutating func restart(_ how: String) throws {
    note(how)
    switch how {
    case "close":
      log.close()
      settleOutcomes()
      if !staged.isEmpty { fault("close left appends unanswered") }
    case "kill": forgetStaged()
    default:
      forgetStaged()
      disk.powerCycle(&random)
    }
    for at in readers.indices { readers[at].subscription = nil }
    log = nil
    try openWithMishaps()
    for at in readers.indices { try checkAfterRestart(at) }
  }

  /// After a start every destination is where one of its commits left it, and is owed the rest.
  private mutating func checkAfterRestart(_ at: Int) throws {
    let reader = readers[at]
    let number: Int = reader.subscription.attachment?["commit"]?.integer() ?? 0
    guard let commit = reader.onDisk.last(where: { $0.number == number }) else {
      return fault("\(reader.name): commit \(number) is on disk, not one of \(reader.onDisk.map(\.number))")
    }
    readers[at].now = commit
    readers[at].onDisk = [commit]
    let ledger = reader.subscription.ledger
    if !ledger.isBalanced { fault("\(reader.name): the books don't balance: \(ledger)") }
    var rest = ledger.settled
    for outcome in [Outcome.delivered, .rejected] where rest[outcome] != commit.tally[outcome] {
      fault("\(reader.name): \(outcome) is \(rest[outcome]), was \(commit.tally[outcome])")
    }
    rest = Tally(rest.counts.filter { $0.key != .delivered && $0.key != .rejected })
    try checkOwed(at, goneInBooks: rest)
  }

  /// Reads everything from the low-water mark on and compares.
  private mutating func checkOwed(_ at: Int, goneInBooks gone: Tally) throws {
    let subscription = readers[at].subscription!
    let lanes: [Lane] = readers[at].isAll ? [.all] : subscription.pendingLanes().sorted { $0.app! < $1.app! }
    var seen: Set<UInt64> = []
    for lane in lanes {
      for event in try subscription.readAll(lane, events: 1 + random.below(50)) {
        if !seen.insert(event.sequence).inserted { fault("\(readers[at].name): \(event.sequence) came twice") }
        if readers[at].now.settled.contains(event.sequence) {
          fault("\(readers[at].name): \(event.sequence) came though it was settled")
        }
        learn(event.sequence, serial: Int(event.index.idHigh), lane)
      }
      subscription.rewind(lane)
    }
    let missing = stored.keys.filter { !seen.contains($0) && !readers[at].now.settled.contains($0) }
    let after = subscription.ledger
    let accounted = after.settled[.lost] + after.settled[.droppedLogFull]
    if UInt64(missing.count) > accounted {
      fault("\(readers[at].name): \(missing.sorted()) are missing, the books know of \(after.settled)")
    }
    if !mayBeLost && fixture.configuration.onFull == .reject && !missing.isEmpty {
      fault("\(readers[at].name): \(missing.sorted()) are missing though nothing was damaged")
    }
    if after.waiting != UInt64(seen.count) {
      fault("\(readers[at].name): \(after.waiting) wait, \(seen.count) can be read")
    }
    if !after.isBalanced { fault("\(readers[at].name): the books don't balance: \(after)") }
  }

  /// An event that came out must be one that went in.
  mutating func learn(_ sequence: UInt64, serial: Int, _ lane: Lane) {
    if let event = stored[sequence] {
      if event.serial != serial || (lane.app != nil && lane.app != event.app) {
        fault("\(sequence) is event \(serial) in \(lane), not \(event)")
      }
    } else if let frame = unknown.first(where: { $0.serials.contains(serial) }) {
      stored[sequence] = Event(app: frame.app, serial: serial)
    } else {
      fault("\(sequence) is event \(serial), which was never stored")
    }
  }
}
