import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite("A connection closed while idle", .timeLimit(.minutes(2)))
struct StaleConnectionTests {
  @Test("is left for a new one when the client can see it")
  func closedBefore() async throws {
    let isClosed = Fact(false)
    let server = ScriptedServer { connection, number in
      while connection.readRequest() != nil {
        connection.answer()
        if number == 1 { break }
      }
      connection.close()
      isClosed.change { $0 = true }
    }
    try await withClient { client in
      let body = RequestBody([1, 2, 3])
      #expect(await client.send(HTTPClientRequest(url: server.url, body: body)).answer?.status == 200)
      await isClosed.wait { $0 }
      #expect(await client.send(HTTPClientRequest(url: server.url, body: body)).answer?.status == 200)
      #expect(server.connections.value == 2)
    }
  }

  @Test("costs the next request nothing but a new connection", arguments: [10, 45_000, 1 << 20], ["close", "reset"])
  func closedMeanwhile(size: Int, how: String) async throws {
    let server = ScriptedServer { connection, number in
      guard connection.readRequest() != nil else { return }
      connection.answer()
      if number == 1 {
        // The next request has begun to come when the connection goes.
        _ = connection.read(atMost: 1)
        if how == "reset" { connection.reset() }
        return
      }
      while connection.readRequest() != nil { connection.answer() }
    }
    try await withClient { client in
      let body = RequestBody([UInt8](repeating: 65, count: size))
      for _ in 0..<3 {
        #expect(await client.send(HTTPClientRequest(url: server.url, body: body)).answer?.status == 200)
      }
      #expect(server.requests.value.map(\.body.count) == [size, size, size])
      #expect(server.connections.value == 2)
    }
  }

  @Test("isn't blamed when the answer had begun")
  func answerBegun() async throws {
    let server = ScriptedServer { connection, _ in
      guard connection.readRequest() != nil else { return }
      connection.answer()
      guard connection.readRequest() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\n")
    }
    try await withClient { client in
      _ = try await client.send(HTTPClientRequest(url: server.url)).get()
      #expect(await client.send(HTTPClientRequest(url: server.url)).failure?.kind == .reset)
      #expect(server.connections.value == 1)
    }
  }
}
