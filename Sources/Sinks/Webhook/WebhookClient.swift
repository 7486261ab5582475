import HTTPClient
import Observability

/// Sends a webhook's requests: the client itself, or what a test has in its place.
protocol WebhookSending: Sendable {
  /// Sends a request, whose body mustn't be touched before the answer is there.
  ///
  /// - Parameter then: called once, from any thread, with the answer or why there is none.
  /// - Returns: what breaks the request off; `then` is called all the same.
  func send(
    _ request: HTTPClientRequest, then: @escaping @Sendable (Result<HTTPAnswer, TransportFailure>) -> Void
  ) -> @Sendable () -> Void

  /// Ends the connections; nothing is sent afterwards.
  func close()
}

/// A client of the webhook's own, with a thread and connections of its own: one that hangs holds up no other.
struct WebhookClient: WebhookSending {
  private let loop: HTTPClientLoop

  init(_ context: SinkContext) {
    // One request at a time; two connections, since large bodies go by HTTP/1.1 where others may go by HTTP/2.
    loop = HTTPClientLoop(
      name: context.name, userAgent: context.userAgent, logger: context.logger, transfersMax: 2,
      idleConnectionsMax: 2)
    loop.start()
  }

  func send(
    _ request: HTTPClientRequest, then: @escaping @Sendable (Result<HTTPAnswer, TransportFailure>) -> Void
  ) -> @Sendable () -> Void {
    let task = Task(executorPreference: loop) { [loop] in then(await loop.send(request)) }
    return { task.cancel() }
  }

  func close() {
    Task { [loop] in await loop.shutdown() }
  }
}
