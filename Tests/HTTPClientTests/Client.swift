import Observability

@testable import HTTPClient

/// A client that runs as long as the test that has it.
func withClient<R>(transfersMax: Int = 128, _ body: (HTTPClientLoop) async throws -> R) async throws -> R {
  let client = HTTPClientLoop(
    name: "test-client", userAgent: "event-relay/1.2.3", logger: .silent, transfersMax: transfersMax)
  client.start()
  do {
    let result = try await body(client)
    await client.shutdown()
    return result
  } catch {
    await client.shutdown()
    throw error
  }
}

extension Result where Success == HTTPAnswer, Failure == TransportFailure {
  var answer: HTTPAnswer? { try? get() }
  var failure: TransportFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}

/// An actor that lives on a client's thread.
actor Resident {
  let client: HTTPClientLoop
  private(set) var notes: [Int] = []
  nonisolated var unownedExecutor: UnownedSerialExecutor { client.asUnownedSerialExecutor() }

  init(_ client: HTTPClientLoop) { self.client = client }

  /// Where the actor ran before, after a request and after a sleep: whether always on the client's thread.
  func isAlwaysHere(_ request: HTTPClientRequest) async -> Bool {
    var isHere = client.isCurrentThread
    for _ in 0..<3 {
      let result = await client.send(request)
      isHere = isHere && client.isCurrentThread && result.answer?.status == 200
      try? await client.sleep(for: .milliseconds(1))
      isHere = isHere && client.isCurrentThread
      preconditionIsolated()
    }
    return isHere
  }

  func note(_ value: Int) { notes.append(value) }

  func sleep(until deadline: ContinuousClock.Instant, note value: Int) async {
    do { try await client.sleep(until: deadline) } catch { return }
    notes.append(ContinuousClock.now >= deadline ? value : -1)
  }
}
