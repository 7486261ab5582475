import Synchronization

/// How the upstream and the webhook's receiver behave, from now on until told otherwise. From any thread.
final class PeerScript: Sendable {
  /// What becomes of a request.
  enum Reply: Sendable, Equatable {
    /// As it should be.
    case honest
    /// The connection is reset.
    case reset
    /// Nothing comes for so long, then the connection is closed.
    case stall(Duration)
    case status(Int, ownWords: Bool)
    /// 429.
    case limited(seconds: Int)
    /// 200 with somebody else's page.
    case page
    /// 200 and half of the right answer, as long as the head says.
    case half
    /// 200, and fewer bytes than the head says.
    case cut
    /// 200 with numbers that can't be.
    case wrongCounts
  }

  private struct State {
    var generator: SeededGenerator
    var fault: TortureFault?
    var until = ContinuousClock.now
    var isAway = false
    var happened: [TortureFault: Int] = [:]
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

  /// Does this to most requests, for so long.
  func misbehave(_ fault: TortureFault, for length: Duration) {
    state.withLock { state in
      state.fault = fault
      state.until = .now + length
    }
  }

  /// Takes nothing at all while so: what comes in waits in the log.
  func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

  func calm() {
    state.withLock { state in
      state.fault = nil
      state.isAway = false
    }
  }

  /// How often each fault came to pass.
  var happened: [TortureFault: Int] { state.withLock { $0.happened } }

  /// What becomes of the next request, and whether what is in it is stored all the same.
  func next() -> (reply: Reply, stores: Bool) {
    state.withLock { state in
      if state.isAway { return (.status(503, ownWords: true), false) }
      guard let fault = state.fault, ContinuousClock.now < state.until,
        Double.random(in: 0..<1, using: &state.generator) < 0.7
      else { return (.honest, true) }
      state.happened[fault, default: 0] += 1
      return Self.reply(fault, &state.generator)
    }
  }

  /// Draws what a fault does.
  static func reply(_ fault: TortureFault, _ generator: inout SeededGenerator) -> (reply: Reply, stores: Bool) {
    let stores = Bool.random(using: &generator)
    switch fault {
    case .reset: return (.reset, stores)
    case .stall: return (.stall(.milliseconds(Int.random(in: 500...3500, using: &generator))), stores)
    case .error:
      let status = [500, 502, 503, 504].randomElement(using: &generator) ?? 500
      return (.status(status, ownWords: Bool.random(using: &generator)), stores)
    case .limit: return (.limited(seconds: 1), false)
    case .lie:
      // An answer that the relay must take for a yes is only given when it is one.
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: return (.page, true)
      case 1: return (.half, stores)
      case 2: return (.cut, stores)
      default: return (.wrongCounts, true)
      }
    default: return (.honest, true)
    }
  }
}
