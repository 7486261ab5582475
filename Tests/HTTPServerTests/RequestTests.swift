import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("A server's requests", .plainAndTLS)
struct RequestTests {
  @Test("reach the handler with method, path, query and headers as sent")
  func asSent() async throws {
    let handler = TestHandler(onHandle: { exchange in
      let parts = [
        exchange.method, exchange.path, exchange.query ?? "-", exchange.header("x-write-key") ?? "-",
        exchange.header("X-Missing") ?? "-",
      ]
      exchange.respond(HTTPResponse(status: 200, body: Array(parts.joined(separator: "|").utf8)))
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      await client.send("PUT /a%20b/%c3%bc?x=1&y=%41? HTTP/1.1\r\nHost: h\r\nX-Write-Key: \t key 1 \t\r\n\r\n")
      #expect(try await client.response().text == "PUT|/a%20b/%c3%bc|x=1&y=%41?|key 1|-")
      await client.send("GET http://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == "GET|/p|q|-|-")
    }
  }

  @Test("may come byte by byte")
  func byteByByte() async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      for byte in post("hello") { await client.send([byte]) }
      #expect(try await client.response().text == "hello")
    }
  }

  @Test("are answered in their order when pipelined, whatever thread answers")
  func pipelined() async throws {
    let held = Held()
    try await withServer(held.handler) { _, port in
      let client = try RawClient(port: port)
      await client.send((0..<5).flatMap { post("body \($0)") })
      for index in 0..<5 {
        let exchange = await held.wait(for: index + 1)[index]
        let body = Array(exchange.body)
        exchange.respond(HTTPResponse(status: 200, body: body))
        #expect(try await client.response().text == "body \(index)")
      }
    }
  }

  @Test("may be chunked, with extensions and a trailer")
  func chunked() async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      await client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nT: 1\r\n\r\n"
      )
      #expect(try await client.response().text == "hello world")
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("of 45 KB come whole, one after the other on a connection")
  func large() async throws {
    let handler = TestHandler(
      onHead: { _ in .readBody(limit: 1 << 20) },
      onHandle: { exchange in
        let body = exchange.body
        let sum = body.reduce(0) { $0 &* 31 &+ Int($1) }
        // 64 bytes past the end can be read.
        let padding = UnsafeRawBufferPointer(start: body.baseAddress, count: body.count + 64)[body.count...]
        exchange.respond(
          HTTPResponse(status: 200, body: Array("\(body.count) \(sum) \(padding.allSatisfy { $0 == 0 })".utf8)))
      })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      for size in [0, 1, 45_000, 4096, 65_536, 1 << 20, 3, 300_000] {
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        let sum = body.reduce(0) { $0 &* 31 &+ Int($1) }
        await client.send(post(body))
        #expect(try await client.response().text == "\(size) \(sum) true")
      }
    }
  }

  @Test("with Expect get a 100 only when their body is wanted")
  func expectContinue() async throws {
    let handler = TestHandler(onHead: { exchange in
      exchange.path == "/no" ? .answer(HTTPResponse(status: 401)) : .readBody(limit: 10)
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      let head = "Host: h\r\nExpect: 100-Continue\r\n"
      await client.send("POST / HTTP/1.1\r\n\(head)Content-Length: 2\r\n\r\n")
      #expect(try await client.response().status == 100)
      await client.send("ok")
      #expect(try await client.response().text == "ok")
      await client.send("POST / HTTP/1.1\r\n\(head)Content-Length: 11\r\n\r\n")
      #expect(try await client.response().status == 413)
      #expect(try await client.readToEnd().isEmpty)
      let second = try RawClient(port: port)
      await second.send("POST /no HTTP/1.1\r\n\(head)Transfer-Encoding: chunked\r\n\r\n")
      #expect(try await second.response().status == 401)
      #expect(try await second.readToEnd().isEmpty)
    }
  }

  @Test("by HEAD get the head alone, and HTTP/1.0 or Connection: close ends the connection")
  func endings() async throws {
    let handler = TestHandler(onHandle: { exchange in
      exchange.respond(
        HTTPResponse(status: 200, body: Array("hello".utf8), closesConnection: exchange.path == "/close"))
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      let head = try await client.response(toHead: true)
      #expect(head.headers["content-length"] == "5")
      for request in [
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        "GET /close HTTP/1.1\r\nHost: h\r\n\r\n",
      ] {
        let client = try RawClient(port: port)
        await client.send(request)
        let answer = try await client.response()
        #expect(answer.text == "hello")
        #expect(answer.headers["connection"] == "close")
        #expect(try await client.readToEnd().isEmpty)
      }
    }
  }

  @Test("from a client that has closed its own side are answered, at once or later")
  func halfClosed() async throws {
    let held = Held()
    var handler = held.handler
    handler.onHead = { $0.path == "/now" ? .answer(HTTPResponse(status: 404)) : .readBody(limit: 1000) }
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      await client.send(post("bye"))
      client.finishWriting()
      await held.wait(for: 1)[0].respond(HTTPResponse(status: 200, body: Array("seen".utf8)))
      #expect(try await client.response().text == "seen")
      #expect(try await client.readToEnd().isEmpty)
      for _ in 0..<20 {
        let other = try RawClient(port: port)
        await other.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
        other.finishWriting()
        #expect(try await other.response().status == 404)
        #expect(try await other.readToEnd().isEmpty)
      }
    }
  }

  @Test("that a client leaves unfinished end their connection at once")
  func unfinished() async throws {
    try await withServer(configure: {
      $0.headerTimeout = .seconds(3600)
      $0.bodyTimeout = .seconds(3600)
      $0.idleTimeout = .seconds(3600)
    }) { server, port in
      for text in ["", "GE", "GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n123"] {
        for _ in 0..<5 {
          let client = try RawClient(port: port)
          await client.send(text)
          client.finishWriting()
          #expect(try await client.readToEnd().isEmpty)
        }
      }
    }
  }

  @Test(
    "that don't tell their end plainly are refused, and the connection ends",
    arguments: [
      ("Content-Length: 3\r\nTransfer-Encoding: chunked", "both"),
      ("Transfer-Encoding: chunked\r\nContent-Length: 3", "both"),
      ("Content-Length: 3\r\nContent-Length: 3", "more than one Content-Length"),
      ("Content-Length: 3\r\nContent-Length: 4", "more than one Content-Length"),
      ("Transfer-Encoding: gzip, chunked", "other than chunked"),
      ("Transfer-Encoding: identity", "other than chunked"),
      ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "other than chunked"),
      ("X-A: a\rTransfer-Encoding: chunked\r\nContent-Length: 3", "control character"),
      ("X-A: a\rContent-Length: 3", "control character"),
      ("X-A: \u{1}\r\nContent-Length: 3", "control character"),
      ("(X): a\r\nContent-Length: 3", "character that no name has"),
      ("Content-Length@: 3", "character that no name has"),
      ("Content-Length : 3", "white space"),
      ("Transfer-Encoding : chunked", "white space"),
      ("Transfer Encoding: chunked\r\nContent-Length: 3", "white space"),
      ("Transfer-Encoding: chunked ", "other than chunked"),
      ("Content-Length: 3\r\n Transfer-Encoding: chunked", "further line"),
      ("Content-Length:\r\n 3", "further line"),
      ("Content: 3\r\n\t-Length", "further line"),
      ("X-A: 1\r\n  2\r\n 3\r\nContent-Length: 3", "further line"),
      ("Content-Length: 3\u{0}7", "zero byte"),
      ("X-A: \u{0}a\r\nContent-Length: 3", "zero byte"),
      ("Host: other\r\nContent-Length: 3", "more than one Host"),
    ])
  func badFraming(headers: String, detail: String) async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\r\nabcGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
      let answer = try await client.response()
      #expect(answer.status == 400)
      #expect(answer.text.contains(detail))
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test(
    "that the library can't read are refused in its own form, and the connection ends",
    arguments: [
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3,3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3 x\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n",
    ])
  func unreadable(request: String) async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      await client.send(request)
      let answer = try await client.response()
      #expect([400, 413, 431, 505].contains(answer.status))
      _ = try await client.readToEnd()
    }
  }

  @Test("that are no HTTP at all end the connection")
  func noise() async throws {
    try await withServer { _, port in
      let client = try RawClient(port: port)
      await client.send("\u{1}\u{2}\u{3}\r\n\r\n")
      _ = try await client.readToEnd()
    }
  }

  @Test("have headers of any size and place, with blanks and bare line feeds as they may be")
  func layouts() async throws {
    let handler = TestHandler(onHandle: { exchange in
      exchange.respond(HTTPResponse(status: 200, body: Array((exchange.header("X-Last") ?? "-").utf8)))
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      var requests: [[UInt8]] = []
      for round in 0..<40 {
        let filler = String(repeating: "v", count: round * round * 12)
        let blanks = String(repeating: round % 2 == 0 ? " " : "\t", count: round)
        let head = "POST / HTTP/1.1\r\nHost: h\r\nX-Filler:\(filler)\r\nX-Empty:\r\nX-Last:\(blanks)\(round)\(blanks)"
        let text = head + "\r\nContent-Length:\(blanks)2\r\n\r\nhi"
        requests.append(
          Array(
            (round % 3 == 0
              ? text.split(separator: "\r\n", omittingEmptySubsequences: false)
                .joined(separator: "\n") : text).utf8))
      }
      // Whole, all at once, and in pieces that cut lines anywhere.
      for request in requests { await client.send(request) }
      for round in requests.indices { #expect(try await client.response().text == "\(round)") }
      await client.send(Array(requests.joined()))
      for round in requests.indices { #expect(try await client.response().text == "\(round)") }
      for (round, request) in requests.enumerated() {
        for start in stride(from: 0, to: request.count, by: 7 + round * 13) {
          await client.send(Array(request[start..<min(start + 7 + round * 13, request.count)]))
        }
        #expect(try await client.response().text == "\(round)")
      }
    }
  }

  @Test("with a header more than once have all its different values")
  func repeated() async throws {
    let handler = TestHandler(onHandle: { exchange in
      exchange.respond(HTTPResponse(status: 200, body: Array((exchange.header("X-Key") ?? "-").utf8)))
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      for (headers, value) in [
        ("X-Key: a\r\nx-key: a", "a"), ("X-Key: a\r\nX-KEY: b\r\nX-Key: a", "a, b"), ("X-Key:\r\nX-Key: b", ", b"),
        ("X-Keys: a\r\nX-Ke: b", "-"),
      ] {
        await client.send("GET / HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\r\n")
        #expect(try await client.response().text == value)
      }
    }
  }
}
