import Dialects
import EventLog

/// How an app's events go upstream, with what each request asks of it at hand. Made anew with each configuration.
final class AppUpstream: Sendable {
  let configuration: UpstreamConfiguration
  let dialect: UInt8
  let outgoing: any OutgoingDialect
  let habits: OutgoingHabits
  let limits: BatchLimits
  /// Bytes of a request's body that events can't have.
  let frameBytes: Int
  /// The app whose own it is; nil: the usual one.
  let owner: String?

  init(_ configuration: UpstreamConfiguration, owner: String?) {
    self.configuration = configuration
    self.owner = owner
    dialect = configuration.dialect.number
    outgoing = configuration.dialect.outgoing
    let habits = outgoing.habits
    self.habits = habits
    frameBytes = outgoing.frameBytes
    limits = BatchLimits(
      events: configuration.maxBatchEvents, bytes: configuration.maxBatchBytes,
      // (Where requests are kept apart, waiting makes none of them fuller.)
      goesWith: habits.keepsRequestsApart ? 1 : habits.goesWith)
  }

  /// What a request takes of its key's limit.
  func cost(_ events: Int) -> Int { habits.limitUnit == .requests ? 1 : events }

  /// Events that a request may hold, with so much of its key's limit left; 0: none.
  func allowance(_ available: Int) -> Int {
    habits.limitUnit == .requests ? available > 0 ? limits.events : 0 : min(limits.events, available)
  }

  /// What may be read for one request.
  ///
  /// - Parameter bytesUsed: of events that it holds already, with a comma each.
  func limit(_ events: Int, bytesUsed: Int = 0) -> ReadLimit {
    ReadLimit(
      events: events, bytes: max(1, limits.bytes - frameBytes + 1 - bytesUsed), separatesKinds: true,
      separatesRequests: habits.keepsRequestsApart)
  }

  /// Events that are too old are given up.
  var givesUpExpired: Bool { habits.clampsTime && configuration.onExpired == .deadLetter }

  /// A request that fails steps aside as it is, and others' events go on.
  var stepsAside: Bool { habits.onServerFault == .stepAside }

  /// How often each request was sent without an answer has to be known after a restart too.
  var countsTries: Bool { habits.keepsRequestsApart && configuration.retry.maxAttempts > 0 }

  /// Between two tries of what has stepped aside, so that all of it together uses no more than a quarter of the key's limit.
  var asideSpacing: Duration {
    let limit = configuration.rateLimit
    return limit.keyMax.map { limit.window * 4 / $0 } ?? .zero
  }

  var requestTimeMax: Duration { configuration.requestTimeMax }

  /// A key of the configuration, in messages.
  func key(_ name: String) -> String { owner.map { "upstream.\(name) of app \($0)" } ?? "upstream.\(name)" }
}
