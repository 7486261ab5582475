import Clocks
import DeadLetters
import Dispatch
import EventLog
import Observability
import Synchronization
import Threads

/// One replay at work, on a thread of its own: counts the events that are meant, then puts them into the destination's
/// queue, as fast as the destination takes them from there, or as its user allows.
final class ReplayJob: Sendable {
  /// With so many events, or bytes, waiting in the queue, nothing more is put there.
  static let waitingMax = 20_000
  static let bytesMax = 24 << 20
  /// Between two tries while the disk is full.
  private static let diskPatience: Duration = .seconds(1)

  struct State {
    var record: ReplayRecord
    /// Events found while they are counted.
    var found = 0
    var isStopping = false
    var isEnded = false
  }

  let id: String
  let isDryRun: Bool
  private let desk: ReplayDesk.Room
  /// Nil in a dry run.
  private let queue: ReplayQueue?
  private let sentBefore: Int
  private let state: Mutex<State>
  private let stopSignal = DispatchSemaphore(value: 0)
  private let ended = DispatchGroup()

  init(_ record: ReplayRecord, id: String, queue: ReplayQueue?, desk: ReplayDesk.Room) {
    self.id = id
    self.queue = queue
    self.desk = desk
    isDryRun = queue == nil
    sentBefore = record.sent
    state = Mutex(State(record: record))
  }

  func start() throws(ReplayError) {
    ended.enter()
    let code = DetachedThread.start(name: "replay") { [self] in
      run()
      ended.leave()
    }
    guard code != 0 else { return }
    ended.leave()
    throw ReplayError(.failed, "no thread can be started for the replay (errno \(code))")
  }

  /// Ends it soon: what is in the queue stays there.
  func stop() {
    state.withLock { $0.isStopping = true }
    stopSignal.signal()
  }

  func waitForEnd() { ended.wait() }

  func waitForEnd(atMost duration: Duration) { _ = ended.wait(timeout: .now() + duration.seconds) }

  var isEnded: Bool { state.withLock { $0.isEnded } }

  var status: ReplayStatus {
    let (record, found) = state.withLock { ($0.record, $0.found) }
    return ReplayStatus(
      id: id, destination: record.request.destination, state: record.state, isDryRun: isDryRun,
      matched: record.matched ?? found, clamped: record.clamped, unreadable: record.unreadable, sent: record.sent,
      sentBefore: sentBefore, waiting: queue?.waiting ?? 0, error: record.error)
  }

  private var record: ReplayRecord { state.withLock { $0.record } }
  private var isStopping: Bool { state.withLock { $0.isStopping } }

  private func change(_ body: (inout ReplayRecord) -> Void) throws(ReplayError) {
    let record = state.withLock { state in
      body(&state.record)
      return state.record
    }
    if !isDryRun { try desk.files.write(record) }
  }

  // MARK: The thread

  private func run() {
    do throws(ReplayError) {
      if record.matched == nil { try count() }
      if let queue, !isStopping { try send(queue) }
      let isStopped = isStopping && (record.matched == nil || record.sent < record.matched ?? 0)
      finish(isStopped ? .stopped : .done)
    } catch {
      desk.logger.error("a replay failed", about: record.request.destination, ["why": .text(error.description)])
      finish(.failed, error)
    }
  }

  /// Puts the end on record, and shows it only then: whoever sees it may begin the same replay anew.
  private func finish(_ end: ReplayState, _ error: ReplayError? = nil) {
    var record = record
    record.state = end
    record.error = error?.description
    desk.logger.info(
      isDryRun ? "a replay's events were counted" : "a replay has ended", about: record.request.destination,
      [
        "id": .text(id), "state": .text(end.rawValue), "matched": .integer(record.matched ?? 0),
        "sent": .integer(record.sent),
      ])
    if !isDryRun {
      do throws(ReplayError) {
        try desk.files.write(record)
      } catch {
        desk.logger.warning(
          "a replay's end can't be noted", about: record.request.destination, ["why": .text(error.description)])
      }
    }
    let last = record
    state.withLock { state in
      state.record = last
      state.isEnded = true
    }
  }

  private func count() throws(ReplayError) {
    let source = try desk.source(of: record)
    let fit = ReplayFit(record.request, desk)
    var (found, clamped) = (0, 0)
    var misfit: ReplayError?
    let unreadable = try source.forEach(after: nil, goesOn: { !isStopping }) { candidate in
      misfit = fit.misfit(candidate)
      if misfit != nil { return false }
      found += 1
      if fit.isClamped(candidate) { clamped += 1 }
      if found % 1000 == 0 { state.withLock { $0.found = found } }
      return true
    }
    if let misfit { throw misfit }
    if isStopping { return }
    let (matched, old) = (found, clamped)
    try change { record in
      record.matched = matched
      record.clamped = old
      record.unreadable = unreadable
      record.state = .sending
    }
  }

  private func send(_ queue: ReplayQueue) throws(ReplayError) {
    try change { $0.state = .sending }
    let sender = ReplaySender(queue: queue, settling: desk.settling(queue), request: record.request)
    let fit = ReplayFit(record.request, desk)
    var isThrough = false
    while !isThrough, !isStopping {
      let source = try desk.source(of: record)
      var failure: ReplayError?
      isThrough = true
      func flush() -> Bool {
        do throws(ReplayError) {
          isThrough = try flushNow(sender)
        } catch {
          failure = error
          isThrough = false
        }
        return isThrough
      }
      _ = try source.forEach(after: record.after, goesOn: { !isStopping }) { candidate in
        guard !isStopping else { return false }
        // (The configuration may have changed since they were counted.)
        failure = fit.misfit(candidate)
        guard failure == nil, !sender.isFull(before: candidate) || flush() else { return false }
        sender.add(candidate)
        return true
      }
      if isThrough, failure == nil, !isStopping, !sender.isEmpty { _ = flush() }
      if let failure { throw failure }
      sender.clear()
      // Not all of it went in: the disk is full.
      if !isThrough { wait(Self.diskPatience) }
    }
  }

  /// Puts what is gathered into the queue once it may be; false when not all of it went in, or somebody stops.
  private func flushNow(_ sender: ReplaySender) throws(ReplayError) -> Bool {
    while !isStopping, let delay = sender.delay(hasRoom: hasRoom(sender)) { wait(delay) }
    guard !isStopping else { return false }
    var record = record
    let isAll = try sender.flush(&record)
    let result = record
    state.withLock { $0.record = result }
    return isAll
  }

  private func hasRoom(_ sender: ReplaySender) -> Bool {
    guard desk.waitsForRoom else { return true }
    let waiting = sender.queue.waiting
    return waiting == 0 || (waiting < sender.waitingMax(Self.waitingMax) && sender.queue.sizeBytes < Self.bytesMax)
  }

  private func wait(_ duration: Duration) { _ = stopSignal.wait(timeout: .now() + duration.seconds) }
}
