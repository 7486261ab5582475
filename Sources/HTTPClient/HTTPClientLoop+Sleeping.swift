extension HTTPClientLoop {
  /// Waits until a moment has come; it is never early.
  ///
  /// - Throws: `CancellationError` at once when the task is cancelled or the loop shut down.
  public nonisolated(nonsending) func sleep(until deadline: ContinuousClock.Instant) async throws {
    let timer = LoopTimer(deadline: deadline)
    let hasFired = await suspend { continuation in
      timer.continuation = continuation
      post(.sleep(timer))
    } onCancel: {
      timer.isCancelled.store(true, ordering: .releasing)
      post(.wake(timer))
    }
    guard hasFired else { throw CancellationError() }
  }

  /// Waits so long; as ``sleep(until:)``.
  public nonisolated(nonsending) func sleep(for duration: Duration) async throws {
    try await sleep(until: .now + duration)
  }
}
