/// Sends requests: the client itself, or what a test has in its place.
public protocol HTTPSending: Sendable {
  /// Sends a request and waits for the whole answer.
  ///
  /// Runs where its caller runs, so that an actor that shares the client's thread doesn't leave it. When the task is cancelled, the transfer
  /// is broken off and a failure comes back at once.
  nonisolated(nonsending) func send(_ request: HTTPClientRequest) async -> Result<HTTPAnswer, TransportFailure>
}
