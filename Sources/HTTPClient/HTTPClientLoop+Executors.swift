/// Actors are pinned to the loop's thread by giving it as their executor, and tasks that spend their lives there prefer it:
///
///     actor Lane {
///       let loop: HTTPClientLoop
///       nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///     }
///     let lane = Lane(loop: loop)
///     Task(executorPreference: loop) { await lane.run() }
extension HTTPClientLoop: SerialExecutor, TaskExecutor {
  public func enqueue(_ job: consuming ExecutorJob) { post(.job(UnownedJob(job))) }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  public func isIsolatingCurrentContext() -> Bool? { isCurrentThread }

  public func checkIsolated() {
    precondition(isCurrentThread, "not on the thread of the HTTP client's loop")
  }
}
