import Clocks
import Configuration
import DeadLetters
import EventLog
import Foundation
import HTTPClient
import JSON
import Observability
import Records
import Synchronization
import TestSupport

@testable import Sinks

/// A webhook's worker over a log in memory, with a receiver, a clock and faults of its own: nothing here waits.
final class WebhookBench {
  let directory = TemporaryDirectory()
  let log = MemoryLog()
  let receiver = FakeReceiver()
  let metrics = MetricsRegistry()
  let wall = SimulatedWall()
  let faults = SinkBench.Faults()
  /// The position can't be written any more once something was synced.
  let failsCommitAfterSync = SinkBench.Flag()
  /// The monotonic moment given to the next step.
  var now = ContinuousClock.now
  var options = WebhookOptions(url: "https://example.com/hook?token=hunter2")
  var common = RelayConfiguration.Sink.Common()
  private(set) var worker: WebhookWorker!

  init() {
    options.linger = .zero
    options.maxBatchEvents = 3
    restart()
  }

  /// Begins anew from what was committed, as after a `kill -9`.
  func restart() {
    worker = nil
    receiver.forget()
    let (faults, wall, log, failsCommitAfterSync) = (faults, wall, log, failsCommitAfterSync)
    let system = FileSystem { operation, _ in
      if operation == .sync, failsCommitAfterSync.isSet { log.state.withLock { $0.failsCommit = true } }
      return faults[operation]
    }
    let context = SinkContext(
      name: "hook", common: common, subscription: log.subscribe("hook"), relay: "r-1",
      deadLetters: DeadLetterStore(
        directory: directory.file("dead-letters"), clock: wall.clock, logger: .silent, system: system),
      clock: wall.clock, metrics: metrics, logger: .silent)
    worker = WebhookWorker(options, context, client: receiver, wake: SinkWake {}, roll: { 1 })
  }

  func add(_ count: Int = 1, _ text: String = #"{"a":1}"#, app: String = "ios") {
    for _ in 0..<count { log.append(text, app: app, at: wall.now) }
  }

  /// Steps until there is nothing more to do at once.
  @discardableResult
  func run(settles: Bool = false) -> SinkStep {
    while true {
      let next = worker.step(now: now, settles: settles)
      if next != .again { return next }
    }
  }

  func pass(_ time: Duration) {
    now += time
    wall.pass(time)
  }

  /// Goes on to the end of the delay that runs.
  func passDelay() {
    if let moment = worker.state.mayAttempt(at: now) { pass(moment - now) }
  }

  /// Answers the request under way after so long, and goes on.
  @discardableResult
  func answer(
    _ status: Int, _ body: String = "", headers: [(name: String, value: String)] = [],
    after: Duration = WebhookWorker.commitInterval
  ) -> SinkStep {
    pass(after)
    receiver.answer(.success(HTTPAnswer(status: status, headers: headers, body: Array(body.utf8))))
    return run()
  }

  func fail(_ kind: TransportFailure.Kind = .reset, _ description: String = "gone") -> SinkStep {
    receiver.answer(.failure(TransportFailure(kind: kind, description: description)))
    return run()
  }

  var committed: Int { log.state.withLock { $0.committed } }
  var settled: Tally { log.state.withLock { $0.settled } }

  /// The dead letters' lines, in order.
  var deadLetters: [JSONValue] {
    let folder = directory.file("dead-letters")
    return SinkBench.files(in: folder).flatMap { readLines("\(folder)/\($0)") }.compactMap {
      try? JSONValue(parsing: $0)
    }
  }

  func attempts(_ outcome: AttemptMetrics.Outcome) -> UInt64 {
    metrics.counter(
      "event_relay_destination_attempts_total", "", [("destination", "hook"), ("outcome", outcome.rawValue)]
    ).value
  }
}

/// A wall clock that a test sets.
final class SimulatedWall: Sendable {
  /// 2026-10-23T12:04:31.512Z
  private let time = Mutex(Timestamp(milliseconds: 1_792_757_071_512))

  var now: Timestamp { time.withLock { $0 } }
  var clock: WallClock { WallClock { [self] in now } }
  func pass(_ duration: Duration) { time.withLock { $0 = $0 + duration } }
}

/// A receiver that answers when the test says so, and remembers what was sent.
final class FakeReceiver: WebhookSending {
  struct Request: Sendable {
    var url: String
    var headers: [String]
    var body: [UInt8]

    func header(_ name: String) -> String? {
      headers.first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.utf8.count + 2)) }
    }
    var id: String { header("webhook-id") ?? "" }
    var numbers: [Int] {
      let events = (try? JSONValue(parsing: body))?["data"]?["events"]?.array ?? []
      return events.map { $0["seq"]?.integer() ?? -1 }
    }
  }

  private struct State {
    var requests: [Request] = []
    var then: (@Sendable (Result<HTTPAnswer, TransportFailure>) -> Void)?
  }
  private let state = Mutex(State())

  func send(
    _ request: HTTPClientRequest, then: @escaping @Sendable (Result<HTTPAnswer, TransportFailure>) -> Void
  ) -> @Sendable () -> Void {
    let sent = Request(url: request.url, headers: request.headers, body: Array(request.body!.content))
    state.withLock { state in
      precondition(state.then == nil, "two requests at once")
      state.requests.append(sent)
      state.then = then
    }
    return { [self] in answer(.failure(TransportFailure(kind: .other, description: "cancelled"))) }
  }

  func close() {}

  /// Answers the request under way, when there is one.
  func answer(_ result: Result<HTTPAnswer, TransportFailure>) {
    let then = state.withLock { state in
      defer { state.then = nil }
      return state.then
    }
    then?(result)
  }

  func forget() { state.withLock { $0.then = nil } }

  var isWaiting: Bool { state.withLock { $0.then != nil } }
  var requests: [Request] { state.withLock { $0.requests } }
}
