import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite("A server's bodies", .plainAndTLS)
struct BodyTests {
  @Test(
    "are decoded",
    arguments: [("gzip", Compression.gzip), ("X-GZip", .gzip), ("deflate", .zlib), ("deflate", .deflate)])
  func decoded(name: String, format: Compression) async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      let text = String(repeating: "hello ", count: 100)
      let body = compressed(Array(text.utf8), format)
      await client.send(post(body, headers: "Content-Encoding: \(name)\r\n"))
      #expect(try await client.response().text == text)
      // Byte by byte, and each byte in a chunk of its own.
      for byte in post(body, headers: "Content-Encoding: \(name)\r\n") { await client.send([byte]) }
      #expect(try await client.response().text == text)
      await client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Encoding: \(name)\r\n\r\n")
      for byte in body { await client.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
      await client.send("0\r\n\r\n")
      #expect(try await client.response().text == text)
    }
  }

  @Test("of several gzip members are one, and identity means nothing")
  func members() async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      await client.send(
        post(compressed(Array("one ".utf8)) + compressed(Array("two".utf8)), headers: "Content-Encoding: gzip\r\n"))
      #expect(try await client.response().text == "one two")
      await client.send(post("plain", headers: "Content-Encoding: Identity\r\n"))
      #expect(try await client.response().text == "plain")
    }
  }

  @Test("that a request doesn't have are empty, whatever the connection's last one had")
  func nothingLeft() async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      for large in [5, 900] {
        for empty in [post(""), Array("POST / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)] {
          await client.send(post(String(repeating: "a", count: large)))
          #expect(try await client.response().body.count == large)
          await client.send(empty)
          #expect(try await client.response().text == "")
        }
      }
    }
  }

  @Test("that aren't what their encoding says are refused, and the connection goes on")
  func undecodable() async throws {
    let good = compressed(Array("hello".utf8))
    let bad: [([UInt8], String)] = [
      (Array(good.dropLast()), "gzip"), (good + [0], "gzip"), (good + Array("xx".utf8), "gzip"), ([1, 2, 3], "gzip"),
      (compressed(Array("x".utf8), .zlib) + [1], "deflate"), ([0x78], "deflate"), ([0xFF, 0xFF, 0xFF], "deflate"),
      (Array(compressed(Array("hello".utf8), .zlib).dropLast(4)), "deflate"), (compressed([1], .zlib), "gzip"),
    ]
    try await withServer { _, port in
      let client = try RawClient(port: port)
      for (body, encoding) in bad {
        await client.send(post(body, headers: "Content-Encoding: \(encoding)\r\n"))
        let answer = try await client.response()
        #expect(answer.status == 400 && answer.text == "undecodableBody", "\(body) \(encoding)")
      }
      for encoding in ["br", "zstd", "gzip, gzip", "gzip\r\nContent-Encoding: gzip"] {
        await client.send(post(good, headers: "Content-Encoding: \(encoding)\r\n"))
        #expect(try await client.response().text == "unsupportedEncoding")
      }
      await client.send(post("still here"))
      #expect(try await client.response().text == "still here")
    }
  }

  @Test("that inflate without end cost no memory beyond the limit")
  func bomb() async throws {
    let bomb = compressed([UInt8](repeating: 0, count: 30_000_000))
    try await withServer(
      TestHandler(onHead: { _ in .readBody(limit: 100_000) }), configure: { $0.maxBodyMemory = 200_000 }
    ) {
      _, port in
      for _ in 0..<3 {
        let client = try RawClient(port: port)
        await client.send(post(bomb, headers: "Content-Encoding: gzip\r\n"))
        #expect(try await client.response().text == "bodyTooLarge(limit: 100000)")
      }
      let client = try RawClient(port: port)
      let exact = [UInt8](repeating: 7, count: 100_000)
      await client.send(post(compressed(exact), headers: "Content-Encoding: gzip\r\n"))
      #expect(try await client.response().body == exact)
      // Many members with nothing in them, that never reach the decoded limit.
      let empty = compressed([])
      await client.send(
        post([UInt8]((0..<20_000).map { _ in empty }.joined()), headers: "Content-Encoding: gzip\r\n"))
      #expect(try await client.response().status == 413)
    }
  }

  @Test("that are encoded are held as they came until they are complete or large: a bomb nobody sets off costs nothing")
  func heldBombs() async throws {
    let bomb = compressed([UInt8](repeating: 0, count: 900_000))
    #expect(bomb.count < BodyDecoding.heldMax)
    // Room for one decoded body and no second.
    try await withServer(
      TestHandler(onHead: { _ in .readBody(limit: 1 << 20) }), configure: { $0.maxBodyMemory = 1_500_000 }
    ) { _, port in
      var clients: [RawClient] = []
      for _ in 0..<50 {
        clients.append(try RawClient(port: port))
        await clients[clients.count - 1].send(post(bomb, headers: "Content-Encoding: gzip\r\n").dropLast(1).map { $0 })
      }
      let beside = try RawClient(port: port)
      await beside.send(post(bomb, headers: "Content-Encoding: gzip\r\n"))
      #expect(try await beside.response().body.count == 900_000)
      for client in clients {
        await client.send([bomb[bomb.count - 1]])
        #expect(try await client.response().body.count == 900_000)
      }
    }
  }

  @Test("that are encoded and don't shrink are decoded as they come, of any size")
  func incompressible() async throws {
    var random = SystemRandomNumberGenerator()
    try await withServer(TestHandler(onHead: { _ in .readBody(limit: 1 << 20) })) { _, port in
      let client = try RawClient(port: port)
      for size in [1, 16_000, 16_384, 17_000, 300_000, 1 << 20] {
        let body = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        await client.send(post(compressed(body), headers: "Content-Encoding: gzip\r\n"))
        #expect(try await client.response().body == body, "\(size)")
      }
    }
  }

  @Test("over the limit are read and thrown away, so that the sender sees the answer")
  func tooLarge() async throws {
    try await withServer { _, port in
      var client = try RawClient(port: port)
      let body = [UInt8](repeating: 1, count: 2_000_000)
      await client.send(post(body))
      #expect(try await client.response().text == "bodyTooLarge(limit: 1000)")
      await client.send(Array("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1E8480\r\n".utf8) + body)
      await client.send("\r\n0\r\n\r\n")
      #expect(try await client.response().text == "bodyTooLarge(limit: 1000)")
      client = try RawClient(port: port)
      await client.send(post("small"))
      #expect(try await client.response().text == "small")
    }
  }

  @Test("that go on for too long are answered, and the connection ends")
  func endless() async throws {
    try await withServer(configure: { $0.maxDiscarded = 1_000_000 }) { server, port in
      let client = try RawClient(port: port)
      await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n")
      await client.send([UInt8](repeating: 1, count: 1_500_000))
      let answer = try await client.response()
      #expect(answer.status == 413)
      #expect(answer.headers["connection"] == "close")
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("that nobody wants are thrown away before the answer, for so long and no longer")
  func unwanted() async throws {
    let handler = TestHandler(onHead: { _ in .answer(HTTPResponse(status: 404, body: Array("no".utf8))) })
    try await withServer(handler, configure: { $0.discardTimeout = .milliseconds(50) }) { _, port in
      let client = try RawClient(port: port)
      await client.send(post([UInt8](repeating: 1, count: 100_000)))
      #expect(try await client.response().text == "no")
      await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == "no")
      await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n123")
      #expect(try await client.response().text == "no")
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("share their memory; past it a request is told to come again")
  func overloaded() async throws {
    let held = Held()
    var handler = held.handler
    handler.onHead = { _ in .readBody(limit: 1 << 20) }
    try await withServer(handler, configure: { $0.maxBodyMemory = 1_500_000 }) { _, port in
      let first = try RawClient(port: port)
      let second = try RawClient(port: port)
      let body = [UInt8](repeating: 1, count: 1_000_000)
      await first.send(post(body))
      let exchange = await held.wait(for: 1)[0]
      await second.send(post(body))
      #expect(try await second.response().status == 503)
      exchange.respond(HTTPResponse(status: 200))
      #expect(try await first.response().status == 200)
      await second.send(post(body))
      await held.wait(for: 2)[1].respond(HTTPResponse(status: 204))
      #expect(try await second.response().status == 204)
    }
  }

  @Test("get a few sizes of memory, never more than their limit")
  func capacities() {
    #expect(BodyBuffer.capacity(for: 1, limit: 1 << 20) == 4096)
    #expect(BodyBuffer.capacity(for: 4097, limit: 1 << 20) == 16_384)
    #expect(BodyBuffer.capacity(for: 45_000, limit: 1 << 20) == 65_536)
    #expect(BodyBuffer.capacity(for: 65_537, limit: 1 << 20) == 131_072)
    #expect(BodyBuffer.capacity(for: 600_000, limit: 1 << 20) == 1 << 20)
    #expect(BodyBuffer.capacity(for: 100, limit: 1000) == 1000)
    #expect(BodyBuffer.capacity(for: 1001, limit: 1000) == 1001)
  }
}
