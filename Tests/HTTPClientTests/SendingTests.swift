import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite("Sending a request", .timeLimit(.minutes(2)))
struct SendingTests {
  @Test("brings the status, the headers and the body back")
  func answer() async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.answer(
        "429 Too Many Requests", "{\"code\":\"rate_limited\"}",
        headers: ["Retry-After:  7 ", "X-Twice: a", "x-twice: b"])
    }
    try await withClient { client in
      let answer = try await client.send(HTTPClientRequest(url: server.url, body: RequestBody([1, 2, 3]))).get()
      #expect(answer.status == 429)
      #expect(answer.values(of: "retry-after") == ["7"])
      #expect(answer.values(of: "x-twice") == ["a", "b"])
      #expect(String(decoding: answer.body, as: UTF8.self) == "{\"code\":\"rate_limited\"}")
      #expect(!answer.isBodyCut)
    }
  }

  @Test("sends the body's bytes, whatever their number", arguments: [0, 1, 45_000, 65_535, 65_536, 1 << 20])
  func bodies(size: Int) async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      let body = RequestBody((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      for _ in 0..<2 { _ = try await client.send(HTTPClientRequest(url: server.url, body: body)).get() }
      for request in server.requests.value { #expect(request.body == Array(body.content)) }
      #expect(server.requests.value.count == 2)
      #expect(server.connections.value == 1)
    }
  }

  @Test("adds to the caller's headers only what HTTP needs and who is asking")
  func headers() async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      let request = HTTPClientRequest(
        url: server.url, headers: ["X-Write-Key: aso_wk_1", "X-Empty:"], body: RequestBody(Array("{}".utf8)))
      _ = try await client.send(request).get()
      let got = try #require(server.requests.value.first)
      #expect(got.head.hasPrefix("POST /v1/events HTTP/1.1\r\n"))
      #expect(
        Set(got.headerNames) == ["host", "user-agent", "accept", "x-write-key", "x-empty", "content-length"])
      #expect(got.head.contains("User-Agent: event-relay/1.2.3\r\n"))
    }
  }

  @Test("sends each request's own headers, though connections and handles are used again")
  func headerReuse() async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      for round in 0..<6 {
        let request = HTTPClientRequest(
          method: round % 3 == 2 ? "GET" : "POST", url: server.url, headers: ["X-Round: \(round / 2)"],
          body: round % 3 == 0 ? RequestBody([7]) : nil)
        _ = try await client.send(request).get()
      }
      let got = server.requests.value
      for (round, request) in got.enumerated() {
        #expect(request.head.contains("X-Round: \(round / 2)\r\n"))
        #expect(request.head.hasPrefix(round % 3 == 2 ? "GET " : "POST "))
        #expect(request.body == (round % 3 == 0 ? [7] : []))
      }
      #expect(server.connections.value == 1)
    }
  }

  @Test(
    "refuses header lines that would smuggle something in",
    arguments: ["X: a\r\nY: b", "no colon", ": x", "X y: z", "X: \u{7F}"])
  func smuggling(line: String) async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      let failure = await client.send(HTTPClientRequest(url: server.url, headers: [line])).failure
      #expect(failure?.kind == .other)
      #expect(failure?.description.contains(line) == false)
      #expect(server.connections.value == 0)
    }
  }

  @Test("takes chunked answers, leaves out interim answers and trailers")
  func chunked() async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n3\r\nabc\r\n")
      connection.write("2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n")
    }
    try await withClient { client in
      let answer = try await client.send(HTTPClientRequest(url: server.url)).get()
      #expect(answer.body == Array("abcde".utf8))
      #expect(answer.headers.map(\.name) == ["transfer-encoding", "a"])
    }
  }

  @Test("takes an answer that comes before the body has been read")
  func earlyAnswer() async throws {
    let done = DispatchSemaphore(value: 0)
    let server = ScriptedServer { connection, _ in
      _ = connection.read(atMost: 1)
      connection.answer("429 Too Many Requests", headers: ["Retry-After: 3"])
      // Nothing more is read before the client is done.
      done.wait()
    }
    try await withClient { client in
      let body = RequestBody([UInt8](repeating: 65, count: 16 << 20))
      let answer = try await client.send(HTTPClientRequest(url: server.url, body: body)).get()
      #expect(answer.status == 429)
      #expect(answer.values(of: "retry-after") == ["3"])
      done.signal()
    }
  }

  @Test("follows no redirect")
  func redirect() async throws {
    let server = ScriptedServer { connection, _ in
      while connection.readRequest() != nil {
        connection.answer("302 Found", "", headers: ["Location: /elsewhere"])
      }
    }
    try await withClient { client in
      #expect(await client.send(HTTPClientRequest(url: server.url)).answer?.status == 302)
      #expect(server.requests.value.count == 1)
    }
  }

  @Test("keeps a mebibyte of a huge body and says that there was more")
  func hugeBody() async throws {
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
      while connection.write([UInt8](repeating: 120, count: 65_536)) {}
    }
    try await withClient { client in
      let answer = try await client.send(HTTPClientRequest(url: server.url)).get()
      #expect(answer.isBodyCut)
      #expect(answer.body.count == HTTPAnswer.bodyBytesMax)
    }
  }

  @Test("goes through a unix socket, whatever the URL's host")
  func unixSocket() async throws {
    let directory = TemporaryDirectory()
    let server = ScriptedServer(unix: directory.file("s")) { connection, _ in
      while connection.readRequest() != nil { connection.answer() }
    }
    try await withClient { client in
      let request = HTTPClientRequest(url: "http://upstream.invalid/v1/events", unixSocket: server.socketPath)
      #expect(await client.send(request).answer?.status == 200)
      // The next request has no socket, and must not inherit this one.
      let other = ScriptedServer.agreeable()
      #expect(await client.send(HTTPClientRequest(url: other.url)).answer?.status == 200)
      #expect(server.requests.value.count == 1)
    }
  }

  @Test("answers two hundred requests at once, each with its own", arguments: [16, 256])
  func concurrency(transfersMax: Int) async throws {
    let server = ScriptedServer { connection, _ in
      while let request = connection.readRequest() {
        connection.answer("200 OK", String(decoding: request.body, as: UTF8.self))
      }
    }
    try await withClient(transfersMax: transfersMax) { client in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let body = Array("request \(number)".utf8)
            return try await client.send(HTTPClientRequest(url: server.url, body: RequestBody(body))).get().body == body
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(server.requests.value.count == 200)
      #expect(server.connections.value <= transfersMax)
    }
  }

  @Test("takes no more of an answer than is wanted")
  func wanted() async throws {
    let server = ScriptedServer { connection, _ in
      while connection.readRequest() != nil { connection.answer("200 OK", String(repeating: "x", count: 100_000)) }
    }
    try await withClient { client in
      var request = HTTPClientRequest(url: server.url)
      request.answerBytesMax = 1000
      let answer = try await client.send(request).get()
      #expect(answer.status == 200 && answer.isBodyCut && answer.body.count == 1000)
      // The next request, on the same handle, has its own limit.
      #expect(try await client.send(HTTPClientRequest(url: server.url)).get().body.count == 100_000)
    }
  }
}
