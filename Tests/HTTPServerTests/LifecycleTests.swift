import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite("A server", .plainAndTLS)
struct LifecycleTests {
  @Test("listens on IPv4, IPv6 and unix sockets at once")
  func addresses() async throws {
    let directory = TemporaryDirectory()
    let path = directory.file("relay.sock")
    let listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0), .unix(path: path)]
    try await withServer(listen: listen) { server, _ in
      #expect(server.addresses.count == 3)
      for address in server.addresses {
        let client: RawClient
        switch address {
        case .tcp(let host, let port):
          #expect(port > 0)
          client = try RawClient(host: host, port: port)
        case .unix(let path): client = try RawClient(unix: path)
        }
        await client.send(post("to \(address)"))
        #expect(try await client.response().text == "to \(address)")
      }
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
    #expect(access(path, F_OK) != 0)
  }

  @Test("replaces the socket a dead process left, and not a live one's or another file")
  func staleSocket() async throws {
    let directory = TemporaryDirectory()
    let path = directory.file("s")
    let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(dead, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0)
    close(dead)
    try await withServer(listen: [.unix(path: path)], configure: { $0.unixSocketMode = 0o660 }) { _, _ in
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
      let second = HTTPServer(
        HTTPServerConfiguration(listen: [.unix(path: path)]), handler: TestHandler(), logger: .silent)
      let error = #expect(throws: HTTPServerError.self) { try second.start() }
      #expect(error?.reason == .inUse)
      let client = try RawClient(unix: path)
      await client.send(post("still there"))
      #expect(try await client.response().text == "still there")
    }
    let file = directory.write("file", "precious")
    let third = HTTPServer(
      HTTPServerConfiguration(listen: [.unix(path: file)]), handler: TestHandler(), logger: .silent)
    let error = #expect(throws: HTTPServerError.self) { try third.start() }
    #expect(error?.reason == .notASocket)
    #expect(readLines(file) == ["precious"])
  }

  @Test("says what is wrong with an address, and binds none then")
  func errors() async throws {
    try await withServer { server, port in
      let cases: [(ListenAddress, HTTPServerError.Reason)] = [
        (.tcp(host: "127.0.0.1", port: port), .inUse), (.tcp(host: "192.0.2.1", port: 0), .notAvailable),
        (.tcp(host: "no such host.invalid", port: 0), .unresolvable), (.tcp(host: "127.0.0.1", port: 70_000), .other),
        (.unix(path: "/tmp/" + String(repeating: "x", count: 200)), .pathTooLong),
        (.unix(path: "/no/such/directory/s"), .noDirectory),
      ]
      for (address, reason) in cases {
        let other = HTTPServer(
          HTTPServerConfiguration(listen: [.tcp(host: "127.0.0.1", port: 0), address]), handler: TestHandler(),
          logger: .silent)
        let error = #expect(throws: HTTPServerError.self) { try other.start() }
        #expect(error?.reason == reason)
        #expect(error?.description.contains("\(address)") == true)
        #expect(other.addresses.isEmpty)
      }
    }
  }

  @Test("takes other limits while it serves: connections stay, new ones have the new times")
  func otherLimits() async throws {
    try await withServer(configure: { $0.maxConnections = 1 }) { server, port in
      let old = try RawClient(port: port)
      await old.send(post("one"))
      #expect(try await old.response().text == "one")
      let refused = try RawClient(port: port)
      if TLSClient.current == nil {
        #expect(try await refused.response().status == 503)
      } else {
        // There is no telling it in its own language before the handshake.
        await #expect(throws: (any Error).self) { try await refused.response() }
      }
      var limits = HTTPServerConfiguration(listen: [])
      limits.maxConnections = 200
      limits.idleTimeout = .milliseconds(40)
      server.setLimits(from: limits)
      // It may still have the old times when it comes before the listener has heard: another one won't.
      var new = try RawClient(port: port)
      await new.send(post("two"))
      #expect(try await new.response().text == "two")
      new = try RawClient(port: port)
      await new.send(post("three"))
      #expect(try await new.response().text == "three")
      #expect(try await new.readToEnd().isEmpty)
      await old.send(post("four"))
      #expect(try await old.response().text == "four")
      limits.maxConnections = 1
      server.setLimits(from: limits)
      await old.send(post("five"))
      #expect(try await old.response().text == "five")
    }
  }

  @Test("answers from any thread, once")
  func otherThread() async throws {
    let held = Held()
    try await withServer(held.handler) { _, port in
      let clients = try (0..<8).map { _ in try RawClient(port: port) }
      for (index, client) in clients.enumerated() { await client.send(post("client \(index)")) }
      let exchanges = await held.wait(for: 8)
      await withTaskGroup(of: Void.self) { group in
        for exchange in exchanges {
          group.addTask {
            let body = Array(exchange.body)
            exchange.respond(HTTPResponse(status: 200, body: body))
            exchange.respond(HTTPResponse(status: 500))
          }
        }
      }
      for (index, client) in clients.enumerated() {
        #expect(try await client.response().text == "client \(index)")
        await client.send(post("again"))
      }
      for exchange in exchanges { exchange.respond(HTTPResponse(status: 500)) }
      for exchange in await held.wait(for: 16)[8...] { exchange.respond(HTTPResponse(status: 202)) }
      for client in clients { #expect(try await client.response().status == 202) }
    }
  }

  @Test("bears clients that are gone before their answer")
  func gone() async throws {
    let held = Held()
    try await withServer(held.handler) { server, port in
      for count in 1...5 {
        let client = try RawClient(port: port)
        await client.send(post("going"))
        _ = await held.wait(for: count)
        client.reset()
      }
      for exchange in await held.wait(for: 5) { exchange.respond(HTTPResponse(status: 200)) }
      let client = try RawClient(port: port)
      await client.send(post("here"))
      await held.wait(for: 6)[5].respond(HTTPResponse(status: 200))
      #expect(try await client.response().status == 200)
    }
  }

  @Test("closes idle connections when it stops, and answers busy ones with Connection: close")
  func stop() async throws {
    let held = Held()
    let directory = TemporaryDirectory()
    let path = directory.file("s")
    let configuration = try HTTPServerConfiguration(
      inModeOfTest: [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)])
    let server = HTTPServer(configuration, handler: held.handler, logger: .silent)
    try server.start()
    let port = try tcpPort(of: server)
    let idle = try RawClient(port: port)
    await idle.send(post("x"))
    await held.wait(for: 1)[0].respond(HTTPResponse(status: 200))
    #expect(try await idle.response().headers["connection"] == nil)
    let silent = try RawClient(port: port)
    let busy = try RawClient(unix: path)
    await busy.send(post("x"))
    let exchange = await held.wait(for: 2)[1]
    let beside = try RawClient(unix: path)
    async let stopped: Void = server.stop(until: .now + .seconds(3600))
    #expect(try await idle.readToEnd().isEmpty)
    #expect(try await silent.readToEnd().isEmpty)
    // Its end tells that the busy one's listener, which has a thread of its own, knows too.
    #expect(try await beside.readToEnd().isEmpty)
    exchange.respond(HTTPResponse(status: 200))
    #expect(try await busy.response().headers["connection"] == "close")
    #expect(try await busy.readToEnd().isEmpty)
    await stopped
    #expect(server.connections == 0)
    #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    #expect(access(path, F_OK) != 0)
    await server.stop(until: .now)
  }

  @Test("stops at once when all that is left is idle")
  func stopIdle() async throws {
    for count in 0..<20 {
      let server = HTTPServer(
        try HTTPServerConfiguration(inModeOfTest: [.tcp(host: "127.0.0.1", port: 0)]), handler: TestHandler(),
        logger: .silent)
      try server.start()
      let port = try tcpPort(of: server)
      var clients: [RawClient] = []
      for index in 0..<count % 4 {
        clients.append(try RawClient(port: port))
        await clients[index].send(post("x"))
        #expect(try await clients[index].response().status == 200)
      }
      await server.stop(until: .now + .seconds(3600))
      for client in clients { #expect(try await client.readToEnd().isEmpty) }
    }
  }

  @Test("cuts what is left at the deadline; a body that is still being read stays")
  func cut() async throws {
    let held = Held()
    let server = HTTPServer(
      try HTTPServerConfiguration(inModeOfTest: [.tcp(host: "127.0.0.1", port: 0)]), handler: held.handler,
      logger: .silent)
    try server.start()
    let port = try tcpPort(of: server)
    let client = try RawClient(port: port)
    await client.send(post("precious"))
    let half = try RawClient(port: port)
    await half.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n123")
    let exchange = await held.wait(for: 1)[0]
    await server.stop(until: .now)
    #expect(try await client.readToEnd().isEmpty)
    #expect(try await half.readToEnd().isEmpty)
    #expect(String(decoding: exchange.body, as: UTF8.self) == "precious")
    #expect(exchange.header("Host") == nil)
    exchange.respond(HTTPResponse(status: 200))
    #expect(exchange.body.isEmpty)
  }

  @Test("takes no new connections after it was told so, and serves the old ones")
  func stopAccepting() async throws {
    try await withServer { server, port in
      let client = try RawClient(port: port)
      await client.send(post("one"))
      #expect(try await client.response().text == "one")
      server.stopAccepting()
      // The thread closes its socket in its next turn.
      try await lookAgain { (try? RawClient(port: port)) != nil }
      await client.send(post("two"))
      #expect(try await client.response().text == "two")
    }
  }
}
