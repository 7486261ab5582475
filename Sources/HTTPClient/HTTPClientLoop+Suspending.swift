extension HTTPClientLoop {
  /// Suspends the calling task until the continuation that `begin` gets is resumed.
  ///
  /// A continuation resumes its task in the shared pool of threads, from where it goes on to its actor, unless the task prefers an executor. So a task
  /// that runs here is made to prefer this loop meanwhile: two changes of threads saved, which cost more than the rest of a request.
  nonisolated(nonsending) func suspend<T: Sendable>(
    _ begin: @Sendable (UnsafeContinuation<T, Never>) -> Void, onCancel: @Sendable () -> Void
  ) async -> T {
    if isCurrentThread, !isPreferred {
      return await withTaskExecutorPreference(self) {
        await suspend(begin, onCancel: onCancel, isolation: nil)
      }
    }
    return await suspend(begin, onCancel: onCancel, isolation: #isolation)
  }

  private func suspend<T: Sendable>(
    _ begin: @Sendable (UnsafeContinuation<T, Never>) -> Void, onCancel: @Sendable () -> Void,
    isolation: isolated (any Actor)?
  ) async -> T {
    await withTaskCancellationHandler {
      await withUnsafeContinuation(isolation: isolation, begin)
    } onCancel: {
      onCancel()
    }
  }

  /// Whether the current task prefers to run here.
  private var isPreferred: Bool {
    withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
  }
}
