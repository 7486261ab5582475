import HTTPClient

/// The thread a destination works on, with its clock and its timers: the HTTP client's loop, or a simulation.
public protocol DeliveryScheduler: SerialExecutor {
  var now: ContinuousClock.Instant { get }

  /// Waits until the moment has come; throws when the task is cancelled before.
  nonisolated(nonsending) func sleep(until deadline: ContinuousClock.Instant) async throws
}

extension HTTPClientLoop: DeliveryScheduler {
  public var now: ContinuousClock.Instant { .now }
}
