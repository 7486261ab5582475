import JSON
import Synchronization
import TestSupport
import Testing

@testable import Commands

@Suite struct SendTests {
  private let directory = TemporaryDirectory()

  private func file(_ events: [String]) -> String { directory.write("events.ndjson", events.joined(separator: "\n")) }

  /// How many events a request holds.
  private static func count(_ request: LoopbackServer.Request) -> Int {
    (try? JSONValue(parsing: request.body))?["events"]?.array?.count ?? -1
  }

  private static func accepted(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
    .init(body: "{\"accepted\":\(count(request)),\"rejected\":[],\"clamped\":[]}")
  }

  @Test func `Lines go in requests of at most a hundred, untouched, with the key`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let odd = #"{"n": 9007199254740993, "p" : 39.990 ,"e":1E5}"#
    let ran = await run(
      "send", "--to", server.url + "/v1/", "--key", "aso_wk_1", file((0..<249).map { goodEvent($0) } + [odd]))
    #expect(ran.code == 0 && ran.err.isEmpty)
    #expect(ran.out == "accepted  250\nrejected    0\nnot sent    0\n")
    #expect(server.requests.map(Self.count) == [100, 100, 50])
    #expect(
      server.requests.allSatisfy { $0.target == "POST /v1/events" && $0.head.contains("\r\nx-write-key: aso_wk_1\r\n") }
    )
    #expect(server.requests.last?.body.hasSuffix(",\(odd)]}") == true)
  }

  @Test func `Requests stay within a mebibyte`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let large = #"{"name":"\#(String(repeating: "x", count: 300_000))"}"#
    let ran = await run("send", "--to", server.url, file([large, large, large, large, goodEvent()]))
    #expect(ran.code == 0)
    #expect(server.requests.map(Self.count) == [3, 2])
    #expect(server.requests.allSatisfy { $0.body.utf8.count <= 1 << 20 })
  }

  @Test func `The key comes from the environment too, and none is sent when there is none`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    _ = await run("send", "--to", server.url, file([goodEvent()]), environment: ["EVENT_RELAY_KEY": "aso_wk_2"])
    _ = await run("send", "--to", server.url, file([goodEvent()]))
    #expect(server.requests.map { $0.head.contains("x-write-key: aso_wk_2") } == [true, false])
    #expect(server.requests.map { $0.head.contains("x-write-key") } == [true, false])
  }

  @Test func `Rejected and clamped events are told, with their place in the file`() async throws {
    let server = LoopbackServer { request, index in
      index == 0
        ? Self.accepted(request)
        : .init(
          body:
            #"{"accepted":1,"rejected":[{"index":1,"event_id":"x","code":"invalid_name","message":"no \u001b[31mname"}],"clamped":[{"index":0,"event_id":null}]}"#
        )
    }
    let events = file((0..<102).map { goodEvent($0) })
    let ran = await run("send", "--to", server.url, events)
    #expect(ran.code == 1)
    #expect(
      ran.out
        == "accepted  101  (1 of them clamped: their time was out of range)\nrejected    1  (1 invalid_name)\nnot sent    0\n"
    )
    let again = LoopbackServer { _, _ in
      .init(
        body:
          #"{"accepted":1,"rejected":[{"index":1,"event_id":"x","code":"c","message":"m"}],"clamped":[{"index":0}]}"#)
    }
    let json = try JSONValue(
      parsing: await run("send", "--json", "--to", again.url, file([goodEvent(1), goodEvent(2)])).out)
    #expect(
      json == [
        "accepted": 1,
        "rejected": [["index": 1, "event_id": "00000000-0000-4000-8000-000000000002", "code": "c", "message": "m"]],
        "clamped": [["index": 0, "event_id": "00000000-0000-4000-8000-000000000001"]], "not_sent": 0, "requests": 1,
      ])
  }

  @Test func `A body goes as it is, and one with too many events in several requests`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let body = "{\n\"sent_by\": 1, \"events\": [\(goodEvent(1)),\n \(goodEvent(2))]}"
    #expect(await run("send", "--to", server.url, "-", input: body).code == 0)
    #expect(server.requests[0].body == body)
    let large =
      "{\"a\":[{\"events\":[1]}],\"events\": [" + (0..<250).map { goodEvent($0) }.joined(separator: " ,\n") + " ]}"
    #expect(await run("send", "--to", server.url, "-", input: large).out.hasPrefix("accepted  250\n"))
    #expect(server.requests.dropFirst().map(Self.count) == [100, 100, 50])
  }

  @Test func `429 and 5xx are tried again, after what Retry-After says`() async {
    let waits = Mutex<[Duration]>([])
    let server = LoopbackServer { request, index in
      switch index {
      case 0: .init(status: 429, headers: ["Retry-After: 7"], body: #"{"code":"rate_limited","message":"wait"}"#)
      case 1: .init(status: 503, body: "")
      case 2: nil
      default: Self.accepted(request)
      }
    }
    let ran = await run(
      "send", "--to", server.url, file([goodEvent()]), sleep: { wait in waits.withLock { $0.append(wait) } })
    #expect(ran.code == 0)
    #expect(ran.out == "accepted  1\nrejected  0\nnot sent  0\n")
    let waited = waits.withLock { $0 }
    #expect(waited.first == .seconds(7))
    #expect(waited.count == 3 && waited[1] >= .seconds(2) && waited[2] >= .seconds(4))
    #expect(ran.err.contains("asked to wait (HTTP 429); trying again in 7.0 s\n"))
    #expect(Set(server.requests.map(\.body)).count == 1, "the same events with the same ids")
  }

  @Test func `It gives up after so many attempts, and says what was not sent`() async {
    let server = LoopbackServer { _, _ in .init(status: 500, body: "") }
    let ran = await run("send", "--to", server.url, "--retries", "2", file((0..<150).map { goodEvent($0) }))
    #expect(ran.code == 1 && server.requests.count == 3)
    #expect(ran.out == "accepted    0\nrejected    0\nnot sent  150\n")
    #expect(ran.err.hasSuffix("\(server.url): still in trouble (HTTP 500) after 3 attempts\n"))
  }

  @Test(arguments: [
    (
      401, #"{"code":"invalid_write_key","message":"The key is unknown."}"#,
      "refused with HTTP 401 invalid_write_key: The key is unknown."
    ),
    (404, "<html>", "what answers there is no relay or upstream: HTTP 404 without the API's own body"),
    (200, "<html>", "what answers there is no relay or upstream: HTTP 200 without the API's own body"),
    (302, "", "what answers there is no relay or upstream: HTTP 302 without the API's own body"),
  ])
  func `A refusal ends it at once`(_ status: Int, _ body: String, _ message: String) async {
    let server = LoopbackServer { _, _ in .init(status: status, body: body) }
    let ran = await run("send", "--to", server.url, file((0..<150).map { goodEvent($0) }))
    #expect(ran.code == 1 && server.requests.count == 1)
    #expect(ran.err == "\(server.url): \(message)\n")
  }

  @Test func `A batch that is too large for the other side is halved`() async {
    let server = LoopbackServer { request, _ in
      Self.count(request) > 30 ? .init(status: 413, body: "") : Self.accepted(request)
    }
    let ran = await run("send", "--to", server.url, file((0..<100).map { goodEvent($0) }))
    #expect(ran.code == 0 && ran.out.hasPrefix("accepted  100\n"))
    #expect(server.requests.map(Self.count) == [100, 50, 25, 25, 50, 25, 25])
  }

  @Test func `A line that is no JSON is not sent, and named`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let bad = (0..<12).map { _ in "nonsense" }
    let ran = await run("send", "--to", server.url, file([goodEvent(1)] + bad + ["7", goodEvent(2)]))
    #expect(ran.code == 1)
    #expect(ran.out == "accepted   2\nrejected   0\nnot sent  13\n")
    let lines = ran.err.split(separator: "\n")
    #expect(lines.first == "line 2 is not a JSON object (at byte 0); not sent")
    #expect(lines.count == 11 && lines.last == "more of these are only counted")
  }

  @Test func `Nobody at the address says so at once`() async {
    let port = LoopbackServer.closedPort()
    let ran = await run("send", "--to", "http://127.0.0.1:\(port)", file([goodEvent()]))
    #expect(ran.code == 1)
    #expect(ran.out == "accepted  0\nrejected  0\nnot sent  1\n")
    #expect(ran.err.hasSuffix("; is anything running there?\n"))
  }

  @Test(arguments: [
    (["--to", "127.0.0.1:1"], "--to: the URL has no http:// or https:// before the host"),
    (["--to", "http://u:secret@h"], "--to: the URL holds a user or password before an @"),
    (["--key", "a b"], "the write key holds a space or another character that no key has"),
    (["--retries", "many"], "--retries wants a whole number from 0 to 100, not \"many\""),
  ])
  func `Wrong options are said before anything is read`(_ options: [String], _ message: String) async {
    let ran = await run(["send"] + options + ["/nowhere/x"])
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err.hasPrefix("event-relay send: \(message)"))
    #expect(!ran.err.contains("secret"))
  }

  @Test(arguments: [
    ("[1]", "standard input is a list; it should be {\"events\":[...]} or one event a line"),
    ("\n", "standard input holds no events"), ("{\"events\": []}", "standard input holds no events"),
    ("{\"events\": [{}", "standard input ends before its \"events\" do (at byte 14)"),
    ("{\"events\": [{},,{}]}", "standard input has an empty element in \"events\" (at byte 16)"),
    ("{\"a\":\n1} {\"b\":\n2}", "standard input is not JSON, or more than one event on several lines each"),
  ])
  func `A file that is no list of events says so`(_ text: String, _ message: String) async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let ran = await run("send", "--to", server.url, "-", input: text)
    #expect(ran.code != 0)
    #expect(ran.err.hasPrefix("event-relay send: \(message)"), "\(ran.err)")
  }

  @Test func `Progress shows on a terminal, and nothing of it elsewhere`() async {
    let server = LoopbackServer { request, _ in Self.accepted(request) }
    let events = file((0..<150).map { goodEvent($0) })
    #expect(await run("send", "--to", server.url, events).err.isEmpty)
    let ran = await run("send", "--to", server.url, events, terminal: Terminal(width: 80))
    #expect(ran.err.contains("accepted, 0 rejected"))
    #expect(ran.err.hasSuffix("\r\u{1B}[K"), "the bar is taken away in the end")
  }
}
