import Clocks
import Glibc
import Records

/// One run: starts the relay, makes events and faults, and has what came of it judged. Used by one thread, which blocks.
public final class TortureRun {
  let options: TortureOptions
  let tell: (TortureNews) -> Void
  /// The user wants it to end: it proves what was done so far.
  let isStopped: () -> Bool

  let mint: EventMint
  let book = DebtBook()
  let upstream: ScriptedPeer<ScriptedUpstream>
  let receiver: ScriptedPeer<ScriptedReceiver>
  let senders: EventSenders
  let setup: TortureSetup
  var damager: LogDamager
  var child: RelayChild?
  /// Milliseconds by which the relay's clock is wrong.
  var clockOffset: Int64 = 0
  /// Counts configurations.
  var turn = 0
  /// What must not be, a sentence each.
  var incidents: [String] = []
  /// How often each fault of the relay's side came to pass.
  var happened: [TortureFault: Int] = [:]
  private let began = ContinuousClock.now

  /// Makes the run's directory, the upstream and the webhook's receiver.
  public init(
    _ options: TortureOptions, isStopped: @escaping () -> Bool, tell: @escaping (TortureNews) -> Void
  ) throws(TortureError) {
    self.options = options
    self.isStopped = isStopped
    self.tell = tell
    let wanted = TortureSchedule.shortest(options.faults)
    guard options.length >= wanted else {
      throw TortureError(
        "\(options.faults.count) faults need \(wanted / .seconds(1)) s at least: take more minutes, or fewer --faults")
    }
    mint = EventMint(seed: options.seed, start: WallClock.system.now)
    upstream = ScriptedPeer(ScriptedUpstream(), mint, book, PeerScript(seed: options.seed &+ 1))
    receiver = ScriptedPeer(ScriptedReceiver(), mint, book, PeerScript(seed: options.seed &+ 2))
    senders = EventSenders(mint, book)
    let directory = try TortureSetup.makeDirectory(in: options.parent)
    setup = TortureSetup(directory: directory, upstreamPort: try upstream.start(), hookPort: try receiver.start())
    damager = LogDamager(setup, mint)
  }

  /// Runs to the end, and judges.
  ///
  /// The run's directory is removed when all is proven, unless the options keep it.
  /// - Throws: when the run couldn't be made: then nothing is proven, and the directory stays.
  public func run() throws(TortureError) -> TortureReport {
    defer { endAll() }
    tell(.began(directory: setup.directory))
    try setup.writeConfiguration(turn: 0)
    try startRelay()
    try senders.start(options.senders)
    try makeFaults()
    try makeUpForFaults()
    let evidence = try gatherEvidence()
    let report = TortureReport(
      TortureOracle.judge(evidence), evidence, options: options, directory: setup.directory, counts: senders.counts,
      length: .now - began)
    if report.verdict.isProven, !options.keepsDirectory { removeDirectory() }
    return report
  }

  private func makeFaults() throws(TortureError) {
    let schedule = TortureSchedule(seed: options.seed, length: options.length, faults: options.faults)
    var steps = schedule.steps[...]
    let end = began + options.length
    while ContinuousClock.now < end, !isStopped() {
      checkRelay()
      let passed = ContinuousClock.now - began
      tell(.progress(share: passed / options.length, debts: book.debts, faults: happenedCount))
      if let step = steps.first, step.at <= passed {
        steps.removeFirst()
        try make(step)
      } else {
        Pause.sleep(.milliseconds(50))
      }
    }
  }

  /// Has each fault that was chosen and never came to pass happen after all.
  private func makeUpForFaults() throws(TortureError) {
    var generator = SeededGenerator(seed: options.seed &+ 3)
    for attempt in 0..<4 {
      let left = options.faults.filter { faults[$0, default: 0] == 0 }.sorted { $0.rawValue < $1.rawValue }
      for fault in left where !isStopped() {
        if attempt == 0 { tell(.stage("once more, since it hasn't happened yet: \(fault.rawValue)")) }
        try make(.init(at: options.length, fault: fault, length: .milliseconds(1500), roll: generator.next()))
        if fault.side == .peers { Pause.sleep(.milliseconds(1600)) }
      }
    }
  }

  /// How often each chosen fault came to pass.
  var faults: [TortureFault: Int] {
    var all = happened
    for script in [upstream.script, receiver.script] { all.merge(script.happened, uniquingKeysWith: +) }
    return Dictionary(uniqueKeysWithValues: options.faults.map { ($0, all[$0, default: 0]) })
  }

  private var happenedCount: Int { faults.values.reduce(0, +) }

  var passed: Duration { .now - began }

  func note(_ fault: TortureFault, _ detail: String = "") {
    happened[fault, default: 0] += 1
    tell(.fault(fault, at: passed, detail: detail))
  }

  /// Ends what was started, whatever happened.
  private func endAll() {
    _ = senders.stop()
    if let child, child.hasEnded == nil {
      child.signal(SIGKILL)
      child.signal(SIGCONT)
      _ = child.waitForEnd(within: .seconds(10))
    }
    upstream.stop()
    receiver.stop()
  }

  private func removeDirectory() {
    let directory = setup.directory
    func remove(_ path: String) {
      for name in (try? FileSystem.system.list(path)) ?? [] { remove("\(path)/\(name)") }
      if Glibc.rmdir(path) != 0 { unlink(path) }
    }
    remove(directory)
  }
}
