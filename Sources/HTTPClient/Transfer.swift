import Synchronization

/// One request on its way, until its answer is handed over.
///
/// What isn't atomic belongs to the loop's thread from the moment the transfer is posted to it; until then, to the task that makes it.
final class Transfer: Sendable {
  let request: HTTPClientRequest
  let isCancelled = Atomic(false)
  nonisolated(unsafe) var continuation: UnsafeContinuation<Result<HTTPAnswer, TransportFailure>, Never>?
  /// The handle that carries it; nil while it waits and when it is over.
  nonisolated(unsafe) var slot: TransferSlot?
  /// When it must be over; set when it begins.
  nonisolated(unsafe) var deadline: ContinuousClock.Instant?
  /// It is being sent again since its connection turned out to be closed.
  nonisolated(unsafe) var isRepeated = false

  init(_ request: HTTPClientRequest) { self.request = request }

  func end(_ result: Result<HTTPAnswer, TransportFailure>) {
    continuation?.resume(returning: result)
    continuation = nil
  }
}
