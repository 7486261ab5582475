import HTTPServer
import TestSupport

/// Clients that come to a server whose handler holds their requests, so that whoever is served stays.
final class Crowd: Sendable {
  private let held: Held
  private let refused = Fact(0)
  private let first: Int

  init(_ held: Held) {
    self.held = held
    first = held.exchanges.value.count
  }

  /// Sends a request over a connection of its own; whether it was taken, and not told to come again.
  func comes(to port: Int, host: String = "127.0.0.1") async throws -> Bool {
    let client = try RawClient(host: host, port: port)
    let (before, taken, happened) = (refused.value, held.exchanges.value.count, Fact<Bool?>(nil))
    await client.send(post("in"))
    Task { [refused] in
      if (try? await client.response().status) != 200 { refused.change { $0 += 1 } }
    }
    Task { [refused] in
      if await refused.wait(until: { $0 > before }) != nil { happened.change { $0 = $0 ?? false } }
    }
    Task { [held] in
      if await held.exchanges.wait(until: { $0.count > taken }) != nil { happened.change { $0 = $0 ?? true } }
    }
    return await happened.wait { $0 != nil } == true
  }

  /// All that were taken are answered.
  func goes() {
    for exchange in held.exchanges.value[first...] { exchange.respond(HTTPResponse(status: 200)) }
    refused.change { $0 = .max / 2 }
  }
}
