import Observability
import Synchronization

/// Counts connections that weren't taken or had to go, and has the log say so, at most once a minute.
final class ConnectionRefusals: Sendable {
  /// A closed set.
  enum Reason: String, Sendable, CaseIterable {
    /// There were as many connections as there may be.
    case full
    /// One address had as many as it may have.
    case address
    /// One that was idle or slow made way for a new one.
    case displaced
    /// There was no file descriptor for it: it waits for one.
    case descriptors
  }

  private struct State {
    var counts: [Reason: Int] = [:]
    var told: [Reason: Int] = [:]
    /// When the log was last told, in nanoseconds of the monotonic clock.
    var toldAt: [Reason: UInt64] = [:]
  }

  /// Nanoseconds between two lines about the same.
  private static let interval: UInt64 = 60_000_000_000

  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  func count(of reason: Reason) -> Int { state.withLock { $0.counts[reason, default: 0] } }

  /// - Parameters:
  ///   - connections: how many there are.
  ///   - now: nanoseconds of the monotonic clock.
  func note(_ reason: Reason, connections: Int, now: UInt64) {
    let news: Int? = state.withLock { state in
      state.counts[reason, default: 0] += 1
      if let last = state.toldAt[reason], now - min(last, now) < Self.interval { return nil }
      state.toldAt[reason] = now
      let all = state.counts[reason, default: 0]
      defer { state.told[reason] = all }
      return all - state.told[reason, default: 0]
    }
    guard let news else { return }
    let message: StaticString =
      switch reason {
      case .full: "connections are refused: there are as many as there may be (max_connections)"
      case .address: "connections are refused: one address has as many as it may have (max_connections_per_address)"
      case .displaced: "idle or slow connections make way for new ones: there are as many as there may be"
      case .descriptors: "no file descriptor for a new connection: it waits; raise the limit (LimitNOFILE, ulimit -n)"
      }
    logger.warning(message, ["since_last_told": .integer(news), "connections": .integer(connections)])
  }
}
