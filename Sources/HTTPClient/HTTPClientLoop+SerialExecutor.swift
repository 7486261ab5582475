/// Actors are pinned to the loop's thread by giving it as their executor:
///
///     actor Lane {
///       let loop: HTTPClientLoop
///       nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///     }
extension HTTPClientLoop: SerialExecutor {
  public func enqueue(_ job: consuming ExecutorJob) { post(.job(UnownedJob(job))) }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func isIsolatingCurrentContext() -> Bool? { isCurrentThread }

  public func checkIsolated() {
    precondition(isCurrentThread, "not on the thread of the HTTP client's loop")
  }
}
