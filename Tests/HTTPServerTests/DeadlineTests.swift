import HTTPServer
import TestSupport
import Testing

/// Every one of these waits for the connection's end, not for time to pass.
@Suite("A server's deadlines", .plainAndTLS)
struct DeadlineTests {
  private let long = Duration.seconds(3600)

  /// A connection whose first request was in time, however busy the machine is.
  private func answered(_ connect: () throws -> RawClient) async throws -> RawClient {
    while true {
      let client = try connect()
      await client.send(post("one"))
      if await (try? client.response())?.text == "one" { return client }
    }
  }

  @Test("cut who connects and says nothing")
  func silent() async throws {
    try await withServer(configure: { $0.headerTimeout = .milliseconds(40) }) { server, port in
      let client = try RawClient(port: port)
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("cut a head that dribbles, on a connection's first request")
  func firstHead() async throws {
    try await withServer(configure: { $0.headerTimeout = .milliseconds(40) }) { _, port in
      let client = try RawClient(port: port)
      await client.send("GET / HTTP/1.1\r\nHost: h\r\nX: ")
      await client.dribble(UInt8(ascii: "x"))
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("cut a head that dribbles, on a later request, from its first byte on")
  func laterHead() async throws {
    for start in ["G", "GET / HTTP/1.1\r\nHost: h\r\nX: "] {
      try await withServer(configure: { [long] in
        $0.headerTimeout = .milliseconds(60)
        $0.idleTimeout = long
      }) { _, port in
        let client = try await answered { try RawClient(port: port) }
        await client.send(start)
        await client.dribble(UInt8(ascii: "x"))
        #expect(try await client.readToEnd().isEmpty)
      }
    }
  }

  @Test("answer a body that dribbles with a timeout, and cut")
  func body() async throws {
    try await withServer(configure: { $0.bodyTimeout = .milliseconds(40) }) { _, port in
      let client = try RawClient(port: port)
      await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n")
      await client.dribble(UInt8(ascii: "x"))
      let answer = try await client.response()
      #expect(answer.status == 408 && answer.headers["connection"] == "close")
      #expect(try await client.readToEnd().isEmpty)
      let chunked = try RawClient(port: port)
      await chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ")
      await chunked.dribble(UInt8(ascii: "x"))
      #expect(try await chunked.response().status == 408)
    }
  }

  @Test("end an idle connection, and not one that waits for its answer")
  func idle() async throws {
    let held = Held()
    try await withServer(
      held.handler,
      configure: { $0.idleTimeout = .milliseconds(40) }
    ) { server, port in
      let waiting = try RawClient(port: port)
      await waiting.send(post("wait"))
      let slow = await held.wait(for: 1)[0]
      let idle = try RawClient(port: port)
      await idle.send(post("x"))
      await held.wait(for: 2)[1].respond(HTTPResponse(status: 200))
      #expect(try await idle.response().status == 200)
      #expect(try await idle.readToEnd().isEmpty)
      slow.respond(HTTPResponse(status: 200))
      #expect(try await waiting.response().status == 200)
      #expect(try await waiting.readToEnd().isEmpty)
    }
  }

  @Test("end a unix socket's idle connection and dribbling head too")
  func unix() async throws {
    let directory = TemporaryDirectory()
    let path = directory.file("s")
    try await withServer(listen: [.unix(path: path)], configure: { $0.headerTimeout = .milliseconds(60) }) { _, _ in
      let client = try await answered { try RawClient(unix: path) }
      await client.send("G")
      await client.dribble(UInt8(ascii: "x"))
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("cut who takes nothing of a long answer")
  func unreadAnswer() async throws {
    let size = 20_000_000
    let isAnswered = Fact(false)
    let handler = TestHandler(onHandle: { exchange in
      exchange.respond(HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: size)))
      isAnswered.change { $0 = true }
    })
    try await withServer(handler, configure: { $0.idleTimeout = .milliseconds(40) }) { server, port in
      let deaf = try RawClient(port: port)
      await deaf.send(post("x"))
      await isAnswered.wait { $0 }
      try await lookAgain { server.connections > 0 }
      #expect(try await deaf.readToEnd().count < size)
    }
  }
}
