import Clocks
import Dialects
import HTTPClient
import JSON
import Synchronization
import TestSupport
import Testing

@testable import Commands

@Suite struct SendProtocolTests {
  private let directory = TemporaryDirectory()

  private func file(_ lines: [String]) -> String {
    directory.write("events.ndjson", lines.joined(separator: "\n") + "\n")
  }

  static func track(_ number: Int, person: Int = 0) -> String {
    #"{"event":"opened","eventId":"order-\#(number)","anonymousId":"anon_\#(person)","timestamp":"2026-11-30T07:59:00+0000","#
      + #""properties":{"n" : 39.990},"context":{}}"#
  }

  static func web(_ number: Int) -> String {
    #"{"event_id":"web-\#(number)","event_name":"purchase","anonymous_id":"anon_1","workspace_id":"ws_1","#
      + #""timestamp":"2026-11-30T07:59:00.000Z","event_data":{"i":1}}"#
  }

  static func voidhash(_ number: Int) -> String {
    #"{"uuid":"u-\#(number)","event":"opened","distinct_id":"vh:anon:1","properties":{},"context":{},"#
      + #""timestamp":"2026-11-30T07:59:00.000Z"}"#
  }

  private static let success = #"{"success":true}"#

  @Test func `Datalyr's events go one a request, untouched, with the key in its header`() async {
    let server = LoopbackServer { _, _ in .init(body: Self.success) }
    let lines = (0..<10).map { Self.track($0) }
    let ran = await run(
      "send", "--protocol", "datalyr", "--to", server.url + "/track", "--key", "dk_1", file(lines))
    #expect(ran.code == 0 && ran.err.isEmpty, "\(ran.err)")
    #expect(ran.out == "accepted  10\nrejected   0\nnot sent   0\n")
    #expect(server.requests.map(\.body) == lines, "one person's events keep their order")
    #expect(
      server.requests.allSatisfy { $0.target == "POST /track" && $0.head.contains("\r\nx-api-key: dk_1\r\n") })
  }

  @Test func `A web batch goes as the file has it, and a web event by itself in a batch`() async {
    let server = LoopbackServer { _, _ in .init(body: Self.success) }
    let body =
      #"{ "events":[\#(Self.web(1)),\#(Self.web(2))],"batchId":"b-1", "timestamp":"2026-11-30T07:59:00.000Z"}"#
    let ran = await run("send", "--protocol", "datalyr", "--to", server.url, "-", input: body)
    #expect(ran.code == 0 && ran.out.hasPrefix("accepted  2\n"), "\(ran)")
    #expect(server.requests.map(\.body) == [body])
    #expect(server.requests.first?.target == "POST /")
    #expect(server.requests.first?.head.contains("x-batch-size: 2\r\n") == true)
    #expect(server.requests.first?.head.contains("x-api-key") == false)
    _ = await run("send", "--protocol", "datalyr", "--to", server.url, "-", input: Self.web(3) + "\n" + Self.track(4))
    #expect(server.requests.dropFirst().map(\.target).sorted() == ["POST /", "POST /track"])
    #expect(server.requests.contains { $0.body.contains(#"{"events":[\#(Self.web(3))]"#) })
  }

  @Test func `Voidhash's events go in batches with the token, or the secret key in its header`() async throws {
    let server = LoopbackServer { request, _ in
      let count = (try? JSONValue(parsing: request.body))?["events"]?.array?.count ?? 0
      return .init(status: 202, body: #"{"accepted":\#(count),"rejected":0}"#)
    }
    let lines = (0..<150).map { Self.voidhash($0) }
    let ran = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", file(lines))
    #expect(ran.code == 0 && ran.out.hasPrefix("accepted  150\n"), "\(ran)")
    #expect(server.requests.map(\.target) == ["POST /i/v1/batch", "POST /i/v1/batch"])
    #expect(server.requests[0].body.contains("[" + lines[..<100].joined(separator: ",") + "]"))
    #expect(server.requests.allSatisfy { (try? JSONValue(parsing: $0.body))?["token"] == "vh_pk_1" })
    _ = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_sk_1", file([lines[0]]))
    let secret = try #require(server.requests.last)
    #expect(secret.head.contains("\r\nx-secret-key: vh_sk_1\r\n") && !secret.body.contains("vh_sk_1"))
    // A file that is a body has a key in it: the one that is asked for goes out.
    let body = #"{"events":[\#(lines[0])],"sent_at":"2026-11-30T07:59:00.000Z","token":"vh_pk_other"}"#
    _ = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", "-", input: body)
    let anew = try #require(server.requests.last)
    #expect(anew.body.contains("[\(lines[0])]") && anew.body.contains("vh_pk_1") && !anew.body.contains("vh_pk_other"))
    // A capture's key isn't a part of its event.
    let capture = lines[1].dropLast() + #","sent_at":"2026-11-30T07:59:00.000Z","token":"vh_pk_other"}"#
    _ = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", "-", input: String(capture))
    #expect(server.requests.last?.body.contains("[\(lines[1])]") == true)
  }

  @Test func `What breaks the rules is not sent, and named, since it would spoil its request`() async {
    let server = LoopbackServer { _, _ in .init(status: 202, body: #"{"accepted":2,"rejected":0}"#) }
    let lines = [Self.voidhash(1), #"{"uuid":"u","event":"","distinct_id":"d"}"#, "nonsense", Self.voidhash(2)]
    let ran = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", file(lines))
    #expect(ran.code == 1)
    #expect(ran.out == "accepted  2\nrejected  0\nnot sent  2\n")
    let said = ran.err.split(separator: "\n")
    #expect(said.first?.hasPrefix("line 2 breaks Voidhash's rules: ") == true && said.first?.contains("event") == true)
    #expect(said.last == "line 3 is not a JSON object (at byte 0); not sent")
    #expect(server.requests.first?.body.contains("[\(lines[0]),\(lines[3])]") == true)
  }

  @Test func `A refusal of a lone event is its rejection, one of the key ends it`() async throws {
    let server = LoopbackServer { request, _ in
      request.body.contains("order-1\"")
        ? .init(status: 400, body: #"{"success":false,"error":"no such thing","code":"bad"}"#)
        : .init(body: Self.success)
    }
    let lines = (0..<3).map { Self.track($0) }
    let ran = await run(
      "send", "--json", "--protocol", "datalyr", "--to", server.url, "--key", "dk_1", file(lines))
    #expect(ran.code == 1)
    let json = try JSONValue(parsing: ran.out)
    #expect(json["accepted"]?.integer() == 2 && json["requests"]?.integer() == 3)
    #expect(json["rejected"]?.array?.map { $0["event_id"] } == ["order-1"])
    #expect(json["rejected"]?.array?.map { $0["index"] } == [1])
    let closed = LoopbackServer { _, _ in .init(status: 401, body: #"{"success":false,"error":"who?"}"#) }
    let refused = await run(
      "send", "--protocol", "datalyr", "--to", closed.url, "--key", "dk_1", file((0..<30).map { Self.track($0) }))
    #expect(refused.code == 1 && closed.requests.count == 1, "one person's events: the first ends it")
    #expect(refused.err.contains("refused with HTTP 401"))
    #expect(refused.out.hasSuffix("not sent  30\n"))
  }

  @Test func `Rejections that aren't named are counted`() async throws {
    let server = LoopbackServer { _, _ in .init(status: 202, body: #"{"accepted":1,"rejected":2}"#) }
    let lines = file((0..<3).map { Self.voidhash($0) })
    let ran = await run("send", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", lines)
    #expect(ran.code == 1 && ran.out == "accepted  1\nrejected  2  (2 not told which)\nnot sent  0\n", "\(ran.out)")
    let json = try JSONValue(
      parsing: await run("send", "--json", "--protocol", "voidhash", "--to", server.url, "--key", "vh_pk_1", lines).out)
    #expect(json["rejected_unnamed"]?.integer() == 2)
  }

  @Test(arguments: [
    (
      ["--protocol", "datalyrr"],
      "--protocol wants app-store-operator, datalyr, voidhash, not \"datalyrr\"; did you mean datalyr?"
    )
  ])
  func `A protocol that there isn't is named with those that there are`(_ words: [String], _ message: String) async {
    for command in ["send", "validate"] {
      let ran = await run([command] + words + ["/nowhere/x"])
      #expect(ran.code == 2 && ran.err.hasPrefix("event-relay \(command): \(message)\n"), "\(ran.err)")
    }
  }

  /// Answers each request only when eight are under way, or all that are left.
  private final class Together: HTTPSending {
    let width: Int
    let under = Fact<(now: Int, total: Int, bodies: [String])>((0, 0, []))

    init(width: Int) { self.width = width }

    nonisolated(nonsending) func send(_ request: HTTPClientRequest) async -> Result<HTTPAnswer, TransportFailure> {
      let body = request.body.map {
        String(decoding: UnsafeRawBufferPointer(rebasing: $0.bytes[..<$0.count]), as: UTF8.self)
      }
      under.change {
        $0.now += 1
        $0.total += 1
        $0.bodies.append(body ?? "")
      }
      let (width, total) = (width, under.value.total)
      _ = await under.wait { $0.total >= (total + width - 1) / width * width }
      under.change { $0.now -= 1 }
      return .success(HTTPAnswer(status: 200, headers: [], body: Array(SendProtocolTests.success.utf8)))
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `Several of Datalyr's requests are under way at once, and never two of one person`() async throws {
    let dialect = try #require(DialectRegistry.dialect(named: "datalyr"))
    let lines = file((0..<64).map { Self.track($0, person: $0 % 8) })
    let client = Together(width: 8)
    let context = CommandContext(
      output: Output(terminal: nil) { _, _ in nil }, environment: [:], clock: WallClock { testTime },
      configurationFiles: [], standardInput: 0, waitForStop: {}, sleep: { _ in }, relay: .none)
    let sender = Sender(
      target: try SendTarget("http://127.0.0.1:1", dialect, key: "dk_1"), dialect: dialect, retriesMax: 0,
      client: client, context: context)
    try await sender.send(try OutgoingEvents(lines, dialect, context))
    #expect(await sender.totals.accepted == 64)
    var last: [Substring: Int] = [:]
    for body in client.under.value.bodies {
      let person = body.components(after: "anon_")
      let number = Int(body.components(after: "order-")) ?? -1
      #expect(last[person, default: -1] < number)
      last[person] = number
    }
    #expect(last.count == 8)
  }
}

extension String {
  /// What stands between a mark and the next quote.
  fileprivate func components(after mark: String) -> Substring {
    split(separator: mark, maxSplits: 1, omittingEmptySubsequences: false).last?.prefix { $0 != "\"" } ?? ""
  }
}
