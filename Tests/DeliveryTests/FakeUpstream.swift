import Delivery
import HTTPClient
import JSON
import Synchronization

/// An upstream that answers as the test says, and remembers what it was sent.
final class FakeUpstream: HTTPSending {
  struct Sent: Sendable {
    /// Which of the requests it is, from 1.
    var number = 0
    var route: String
    var url: String
    var key: String
    var body: [UInt8]
    var at: ContinuousClock.Instant

    var json: JSONValue? { try? JSONValue(parsing: body) }
    /// The member `n` of each event, whether the body is a batch or one event.
    var all: [Int] { json?["events"] == nil ? [json?["n"]?.integer()].compactMap(\.self) : numbers }
    /// The member `n` of each event of a batch.
    var numbers: [Int] { (json?["events"]?.array ?? []).compactMap { $0["n"]?.integer() } }
  }

  enum Reply: Sendable {
    case answer(HTTPAnswer)
    case failure(TransportFailure)
    /// Nothing before the test says so; then success.
    case hold
    /// Nothing before the test says so; then this.
    case heldAnswer(HTTPAnswer)

    /// All is stored.
    static func accepted(_ sent: Sent) -> Reply {
      if sent.route == "identify" { return .answer(HTTPAnswer(status: 204)) }
      let count = sent.json?["events"]?.array?.count ?? 0
      return .status(200, #"{"accepted":\#(count),"rejected":[],"clamped":[]}"#)
    }

    static func status(_ status: Int, _ body: String = "", _ headers: [(String, String)] = []) -> Reply {
      .answer(HTTPAnswer(status: status, headers: headers.map { ($0.0, $0.1) }, body: Array(body.utf8)))
    }

    static func error(_ status: Int, _ code: String, _ message: String = "why", retryAfter: String? = nil) -> Reply {
      .status(
        status, #"{"code":"\#(code)","message":"\#(message)"}"#, retryAfter.map { [("retry-after", $0)] } ?? [])
    }

    /// Nothing before the test says so; then an error.
    static func held(_ status: Int, _ code: String, retryAfter: String? = nil) -> Reply {
      guard case .answer(let answer) = error(status, code, retryAfter: retryAfter) else {
        preconditionFailure("an error is an answer")
      }
      return .heldAnswer(answer)
    }

    static let noConnection = Reply.failure(TransportFailure(kind: .connect, description: "connection refused"))
  }

  private struct State {
    var sent: [Sent] = []
    var script: [Reply] = []
    var answer: @Sendable (Sent) -> Reply = Reply.accepted
    var held: [CheckedContinuation<Void, Never>] = []
    var inFlight = 0
    var inFlightMost = 0
  }

  private let simulation: Simulation
  private let state = Mutex(State())

  init(_ simulation: Simulation) { self.simulation = simulation }

  /// Answers the next requests so, one after the other, before what `answers` says.
  func next(_ replies: Reply...) { state.withLock { $0.script += replies } }

  func answers(_ answer: @escaping @Sendable (Sent) -> Reply) { state.withLock { $0.answer = answer } }

  /// Lets the held requests be answered with success.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }

  var sent: [Sent] { state.withLock { $0.sent } }
  var inFlightMost: Int { state.withLock { $0.inFlightMost } }
  var inFlight: Int { state.withLock { $0.inFlight } }

  nonisolated(nonsending) func send(_ request: HTTPClientRequest) async -> Result<HTTPAnswer, TransportFailure> {
    let key = request.headers.first { $0.hasPrefix("X-Write-Key: ") }?.dropFirst("X-Write-Key: ".count)
    var sent = Sent(
      route: String(request.url.split(separator: "/").last ?? ""), url: request.url, key: key.map(String.init) ?? "",
      body: request.body.map { Array($0.content) } ?? [], at: simulation.now)
    let reply = state.withLock { state in
      sent.number = state.sent.count + 1
      state.sent.append(sent)
      state.inFlight += 1
      state.inFlightMost = max(state.inFlightMost, state.inFlight)
      return state.script.isEmpty ? state.answer(sent) : state.script.removeFirst()
    }
    defer { state.withLock { $0.inFlight -= 1 } }
    switch reply {
    case .answer(let answer): return .success(answer)
    case .failure(let failure): return .failure(failure)
    case .heldAnswer(let answer):
      await hold()
      return .success(answer)
    case .hold:
      await hold()
      guard case .answer(let answer) = Reply.accepted(sent) else { preconditionFailure("accepted is an answer") }
      return .success(answer)
    }
  }

  private nonisolated(nonsending) func hold() async {
    await withTaskExecutorPreference(simulation) {
      await withCheckedContinuation { continuation in state.withLock { $0.held.append(continuation) } }
    }
  }
}
