import HTTPServer
import TestSupport
import Testing

@Suite("A server's requests, and where they begin and end")
struct RequestLineTests {
  @Test("in absolute form have the host of their target, whatever their Host says")
  func absoluteForm() async throws {
    let handler = TestHandler(onHandle: { exchange in
      exchange.respond(HTTPResponse(status: 200, body: Array((exchange.header("host") ?? "-").utf8)))
    })
    try await withServer(handler) { _, port in
      let client = try RawClient(port: port)
      await client.send("GET http://one:1/p HTTP/1.1\r\nHost: two\r\n\r\n")
      #expect(try await client.response().text == "one:1")
      await client.send("GET /p HTTP/1.1\r\nHost: two\r\n\r\n")
      #expect(try await client.response().text == "two")
    }
  }

  @Test("that are chunked are the last of their connection: nothing behind them is ever taken for a request")
  func chunkedIsLast() async throws {
    let paths = Fact<[String]>([])
    let handler = TestHandler(onHandle: { exchange in
      paths.change { $0.append(exchange.path) }
      exchange.respond(HTTPResponse(status: 200))
    })
    try await withServer(handler) { _, port in
      for body in ["1\r\na\r\n0\r\n\r\n", "1;\na\r\n0\r\n\r\n", "1\na\n0\n\n", "0\r\n\r\n"] {
        let client = try RawClient(port: port)
        await client.send("POST /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        await client.send(post("x", path: "/smuggled"))
        _ = try? await client.readToEnd()
      }
      #expect(!paths.value.isEmpty && paths.value.allSatisfy { $0 == "/chunked" })
    }
  }

  @Test("without a Host, or with a first line that isn't what it seems, are refused")
  func noHost() async throws {
    try await withServer { _, port in
      for request in [
        "GET / HTTP/1.1\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a\u{0}b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a\u{0} HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a?b\u{0} HTTP/1.1\r\nHost: h\r\n\r\n", "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "G(ET / HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET h:80 HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      ] {
        let client = try RawClient(port: port)
        await client.send(request)
        let answer = try await client.response()
        #expect(answer.status == 400 && answer.text.contains("badFraming"))
        #expect(try await client.readToEnd().isEmpty)
      }
    }
  }
}
