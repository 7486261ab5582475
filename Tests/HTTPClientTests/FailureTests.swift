import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite("A request that fails", .timeLimit(.minutes(2)))
struct FailureTests {
  @Test("says so when nobody listens, without the URL's password")
  func refused() async throws {
    try await withClient { client in
      let url = "http://user:hunter2@127.0.0.1:\(ScriptedServer.deadPort())/"
      let failure = await client.send(HTTPClientRequest(url: url)).failure
      #expect(failure?.kind == .connect)
      #expect(failure?.description.isEmpty == false)
      #expect(failure?.description.contains("hunter2") == false)
    }
  }

  @Test("says so when the name can't be resolved")
  func unresolved() async throws {
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: "http://upstream.invalid/")).failure
      #expect(failure?.kind == .resolve)
      #expect(failure?.description.contains("upstream.invalid") == true)
    }
  }

  @Test(
    "ends at its limit when the answer doesn't come, or not whole", arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le"])
  func timeout(start: String) async throws {
    let isOver = Fact(false)
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write(start)
      // The client closes when its time is over.
      _ = connection.read(atMost: 1)
      isOver.change { $0 = true }
    }
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url, timeout: .milliseconds(50))).failure
      #expect(failure?.kind == .timeout)
      #expect(await isOver.wait { $0 } == true)
    }
  }

  @Test(
    "is a reset when a new connection is closed, reset or closed amid the answer",
    arguments: ["close", "reset", "half", "half a head", "half a line"])
  func reset(how: String) async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      if how == "half" { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc") }
      if how == "half a head" { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n") }
      if how == "half a line" { connection.write("HTTP/1.1 2") }
      if how == "reset" { connection.reset() }
    }
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url, body: RequestBody([1]))).failure
      #expect(failure?.kind == .reset)
      #expect(server.connections.value == 1)
      #expect(client.staleConnectionRetries == 0)
    }
  }

  @Test("is the protocol's when the answer isn't HTTP or its headers never end", arguments: [0, 1000])
  func notHTTP(headers: Int) async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write(headers == 0 ? "hello\r\n" : "HTTP/1.1 200 OK\r\n")
      connection.write(String(repeating: "X: y\r\n", count: headers) + "\r\n")
    }
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url)).failure
      #expect(failure?.kind == .protocolError)
    }
  }

  @Test(
    "breaks off lines without end, wherever in the answer they come",
    arguments: [
      ("HTTP/1.1 200 OK\r\n", "X: y\r\n"), ("", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "X: y\r\n"),
    ])
  func endlessLines(start: String, line: String) async throws {
    let lines = String(repeating: line, count: 100)
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write(start)
      while connection.write(lines) {}
    }
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url)).failure
      #expect(failure?.kind == .protocolError)
      #expect(failure?.description.contains("the answer has more than") == true, "\(failure?.description ?? "")")
    }
  }

  @Test(
    "is the protocol's when a line of the answer's head never ends",
    arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nX: "])
  func endlessLine(start: String) async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write(start)
      while connection.write(String(repeating: "x", count: 4096)) {}
    }
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url)).failure
      #expect(failure?.kind == .protocolError)
      #expect(failure?.description.contains("too long") == true)
    }
  }

  @Test("is refused at once when the URL or the method is none")
  func malformed() async throws {
    try await withClient { client in
      #expect(await client.send(HTTPClientRequest(url: "http://")).failure?.kind == .other)
      #expect(await client.send(HTTPClientRequest(url: "ftp://127.0.0.1/")).failure != nil)
      #expect(await client.send(HTTPClientRequest(method: "GET / X", url: "http://127.0.0.1/")).failure?.kind == .other)
    }
  }

  @Test("names the file of authorities that isn't there")
  func missingCAFile() async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      let request = HTTPClientRequest(url: "https://127.0.0.1:\(server.port)/", caFile: .file("/nowhere/ca.pem"))
      let failure = await client.send(request).failure
      #expect(failure?.kind == .tls)
      #expect(failure?.description.contains("/nowhere/ca.pem") == true)
    }
  }

  @Test("ends when its task is cancelled, and the connection with it")
  func cancellation() async throws {
    let isOver = Fact(false)
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      _ = connection.read(atMost: 1)
      isOver.change { $0 = true }
    }
    try await withClient { client in
      let task = Task { await client.send(HTTPClientRequest(url: server.url)) }
      await server.requests.wait { !$0.isEmpty }
      task.cancel()
      #expect(await task.value.failure?.kind == .other)
      #expect(await isOver.wait { $0 } == true)
    }
  }

  @Test("isn't begun in a task that is cancelled already, nor while it waits for its turn")
  func cancelledBefore() async throws {
    let release = DispatchSemaphore(value: 0)
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      release.wait()
      connection.answer()
    }
    try await withClient(transfersMax: 1) { client in
      let first = Task { await client.send(HTTPClientRequest(url: server.url)) }
      await server.requests.wait { !$0.isEmpty }
      let second = Task { await client.send(HTTPClientRequest(url: server.url)) }
      second.cancel()
      #expect(await second.value.failure != nil)
      release.signal()
      #expect(await first.value.answer?.status == 200)
      #expect(server.requests.value.count == 1)
    }
  }

  @Test("fails at once after the client's shutdown, which breaks off what is under way")
  func afterShutdown() async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      _ = connection.read(atMost: 1)
    }
    try await withClient { client in
      let task = Task { await client.send(HTTPClientRequest(url: server.url)) }
      await server.requests.wait { !$0.isEmpty }
      await client.shutdown()
      #expect(await task.value.failure?.description.contains("shut down") == true)
      #expect(await client.send(HTTPClientRequest(url: server.url)).failure?.description.contains("shut down") == true)
      await client.shutdown()
    }
  }
}
