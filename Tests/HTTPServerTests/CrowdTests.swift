import HTTPServer
import TestSupport
import Testing

@Suite("A server with more connections than it takes")
struct CrowdTests {
  @Test("answers whoever comes past its limit of connections, over all listeners, and closes")
  func limit() async throws {
    let listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0)]
    let held = Held()
    try await withServer(held.handler, listen: listen, configure: { $0.maxConnections = 3 }) { server, port in
      let sixPort = try tcpPort(of: server, at: 1)
      var clients: [RawClient] = []
      for index in 0..<3 {
        let client = try index == 0 ? RawClient(host: "::1", port: sixPort) : RawClient(port: port)
        await client.send(post("in"))
        clients.append(client)
        // (The listeners are threads of their own: one after the other, so that each exchange is known to be whose.)
        _ = await held.wait(for: index + 1)
      }
      // Who waits for an answer makes way for nobody.
      let exchanges = await held.wait(for: 3)
      #expect(server.connections == 3)
      for client in [try RawClient(port: port), try RawClient(host: "::1", port: sixPort)] {
        let answer = try await client.response()
        #expect(answer.status == 503 && answer.headers["retry-after"] == "1" && answer.headers["connection"] == "close")
        #expect(try await client.readToEnd().isEmpty)
      }
      #expect(server.refusedConnections.full == 2)
      exchanges[1].respond(HTTPResponse(status: 200, closesConnection: true))
      #expect(try await clients[1].response().status == 200)
      #expect(try await clients[1].readToEnd().isEmpty)
      // The place is free as soon as the other's end is known; until then more are turned away.
      let crowd = Crowd(held)
      try await lookAgain { try await !crowd.comes(to: port) }
      crowd.goes()
      exchanges[0].respond(HTTPResponse(status: 200))
      exchanges[2].respond(HTTPResponse(status: 200))
      #expect(try await clients[0].response().status == 200)
      #expect(try await clients[2].response().status == 200)
    }
  }

  @Test("has no more connections of one address than it may have; other addresses and unix sockets have theirs")
  func perAddress() async throws {
    let directory = TemporaryDirectory()
    let path = directory.file("s")
    let listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)]
    try await withServer(
      listen: listen,
      configure: {
        $0.maxConnections = 6
        $0.maxConnectionsPerAddress = 2
      }
    ) { server, port in
      var clients = [try RawClient(port: port), try RawClient(port: port)]
      for client in clients {
        await client.send(post("in"))
        #expect(try await client.response().text == "in")
      }
      #expect(try await RawClient(port: port).response().status == 503)
      #expect(server.refusedConnections.ofAddress == 1 && server.refusedConnections.full == 0)
      clients.append(try RawClient(port: port, from: "127.0.0.2"))
      for _ in 0..<3 { clients.append(try RawClient(unix: path)) }
      for client in clients {
        await client.send(post("again"))
        #expect(try await client.response().text == "again")
      }
      var limits = HTTPServerConfiguration(listen: [])
      limits.maxConnectionsPerAddress = 0
      server.setLimits(from: limits)
      let more = try RawClient(port: port)
      await more.send(post("more"))
      #expect(try await more.response().text == "more")
    }
  }

  @Test("lets connections that are idle, silent or slow make way for new ones when there are too many, the idle first")
  func displaced() async throws {
    let held = Held()
    var handler = held.handler
    handler.onHead = { $0.path == "/now" ? .answer(HTTPResponse(status: 200)) : .readBody(limit: 1000) }
    let configure: (inout HTTPServerConfiguration) -> Void = {
      $0.maxConnections = 4
      // Idle after a quarter of this.
      $0.idleTimeout = .seconds(8)
    }
    try await withServer(handler, configure: configure) { server, port in
      let busy = try RawClient(port: port)
      await busy.send(post("wait"))
      let exchange = await held.wait(for: 1)[0]
      let silent = try RawClient(port: port)
      let slow = try RawClient(port: port)
      await slow.send("GET /now HTTP/1.1\r\nHost: h\r\nX: ")
      let idle = try RawClient(port: port)
      await idle.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await idle.response().status == 200)
      // Those that come are told to come again until one by one has made way: not the busy ones.
      let crowd = Crowd(held)
      for _ in 0..<3 { try await lookAgain { try await !crowd.comes(to: port) } }
      #expect(server.displacedConnections == 3)
      for gone in [idle, silent, slow] { #expect(try await gone.readToEnd().isEmpty) }
      crowd.goes()
      exchange.respond(HTTPResponse(status: 200))
      #expect(try await busy.response().status == 200)
    }
  }

  @Test("lets who is idle at one of its addresses make way for who comes to another")
  func displacedElsewhere() async throws {
    let listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0)]
    let held = Held()
    var handler = held.handler
    handler.onHead = { $0.path == "/now" ? .answer(HTTPResponse(status: 200)) : .readBody(limit: 1000) }
    let configure: (inout HTTPServerConfiguration) -> Void = {
      $0.maxConnections = 2
      // Idle after a quarter of this.
      $0.idleTimeout = .seconds(8)
    }
    try await withServer(handler, listen: listen, configure: configure) { server, port in
      let idle = try RawClient(port: port)
      await idle.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await idle.response().status == 200)
      let busy = try RawClient(port: port)
      await busy.send(post("wait"))
      let exchange = await held.wait(for: 1)[0]
      let crowd = Crowd(held)
      let sixPort = try tcpPort(of: server, at: 1)
      try await lookAgain { try await !crowd.comes(to: sixPort, host: "::1") }
      #expect(server.displacedConnections == 1)
      #expect(try await idle.readToEnd().isEmpty)
      crowd.goes()
      exchange.respond(HTTPResponse(status: 200))
      #expect(try await busy.response().status == 200)
    }
  }
}
