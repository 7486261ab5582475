import HTTPClient
import Synchronization

/// A request under way: where its answer is put, by whatever thread brings it.
final class WebhookFlight: Sendable {
  /// The id it goes under.
  let id: String
  let began: ContinuousClock.Instant
  /// By when there is an answer or a failure, if all is well with the client.
  let deadline: ContinuousClock.Instant

  private struct State {
    var result: Result<HTTPAnswer, TransportFailure>?
    var cancel: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())

  init(id: String, began: ContinuousClock.Instant, deadline: ContinuousClock.Instant) {
    self.id = id
    self.began = began
    self.deadline = deadline
  }

  /// What came back; nil as long as nothing has.
  var result: Result<HTTPAnswer, TransportFailure>? { state.withLock { $0.result } }

  func land(_ result: Result<HTTPAnswer, TransportFailure>) { state.withLock { $0.result = result } }

  func onCancel(_ cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

  func cancel() { state.withLock { $0.cancel }?() }
}
