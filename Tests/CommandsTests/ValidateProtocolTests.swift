import JSON
import Testing

@testable import Commands

@Suite struct ValidateProtocolTests {
  private func validate(_ name: String, _ input: String) async -> Ran {
    await run("validate", "--protocol", name, "-", input: input)
  }

  @Test func `Datalyr's lines get the answers that its server would give`() async throws {
    let lines = [
      SendProtocolTests.track(1), SendProtocolTests.track(2).replacing("opened", with: ""), "nonsense",
      SendProtocolTests.web(3), SendProtocolTests.web(4).replacing("purchase", with: ""), "",
    ]
    let ran = await validate("datalyr", lines.joined(separator: "\n"))
    #expect(ran.code == 1 && ran.err == "2 accepted; 3 rejected\n", "\(ran.err)")
    let json = try JSONValue(parsing: ran.out)
    #expect(json["accepted"]?.integer() == 2)
    let rejected = try #require(json["rejected"]?.array)
    #expect(rejected.map { $0["index"]?.integer() } == [1, 2, 4])
    #expect(rejected.map { $0["event_id"]?.string } == ["order-2", nil, "web-4"])
    #expect(rejected.allSatisfy { $0["status"] == 400 && $0["answer"]?["success"] == false })
    #expect(rejected[0]["answer"]?["error"]?.string?.contains("event") == true)
    #expect(rejected[2]["answer"]?["error"]?.string?.contains("event_name") == true)
  }

  @Test func `Voidhash's lines are judged each by itself, captures too`() async throws {
    let capture = SendProtocolTests.voidhash(2).dropLast() + #","token":"vh_pk_1"}"#
    let secret = SendProtocolTests.voidhash(3).dropLast() + #","token":"vh_sk_1"}"#
    let ran = await validate(
      "voidhash", [SendProtocolTests.voidhash(1), String(capture), String(secret), "{}"].joined(separator: "\n"))
    #expect(ran.code == 1)
    let json = try JSONValue(parsing: ran.out)
    #expect(json["accepted"]?.integer() == 2)
    #expect(json["rejected"]?.array?.map { $0["status"]?.integer() } == [401, 400])
    #expect(json["rejected"]?.array?.map { $0["answer"]?["code"]?.string } == ["unauthorized", "invalid_request"])
  }

  @Test func `A line is one event, whatever a batch around it would make of it`() async throws {
    let event = SendProtocolTests.voidhash(1)
    for line in ["\(event),\(event)", #"\#(event)],"x":[\#(event)"#, "\(event)]}", "nonsense"] {
      let ran = await validate("voidhash", "\(line)\n\(SendProtocolTests.voidhash(2))")
      #expect(ran.code == 1 && ran.err == "1 accepted; 1 rejected\n", "\(ran.err)")
      let rejected = try JSONValue(parsing: ran.out)["rejected"]?.array?.first
      #expect(rejected?["index"] == 0 && rejected?["answer"]?["code"] == "invalid_request", "\(ran.out)")
    }
    let rejected = try JSONValue(parsing: await validate("voidhash", "nonsense\n{}").out)["rejected"]?.array
    #expect(rejected?.first?["answer"]?["error"] == "The event is not a JSON object (at byte 0).")
  }

  @Test func `A body gets its own answer`() async throws {
    let events = (0..<3).map { SendProtocolTests.voidhash($0) }
    let good = await validate("voidhash", #"{"events":[\#(events.joined(separator: ","))],"token":"vh_pk_1"}"#)
    #expect(good.code == 0 && good.out == "{\"accepted\":3,\"rejected\":0}\n" && good.err == "HTTP 202: 3 accepted\n")
    for (body, status, code) in [
      (#"{"events":[]}"#, 400, "invalid_request"), (#"{"events":[\#(events[0]),7]}"#, 400, "invalid_request"),
      (#"{"events":[\#(events[0])],"token":"vh_sk_1"}"#, 401, "unauthorized"), ("[1]", 400, "invalid_request"),
      (#"{"events":["\#(String(repeating: "x", count: 1 << 20))"]}"#, 413, "payload_too_large"),
    ] {
      let ran = await validate("voidhash", body)
      #expect(ran.code == 1 && ran.err == "HTTP \(status): nothing of it is taken\n", "\(ran.err)")
      #expect(try JSONValue(parsing: ran.out)["code"]?.string == code)
    }
    let web = #"{"events":[\#(SendProtocolTests.web(1))],"batchId":"b","timestamp":"2026-11-30T07:59:00.000Z"}"#
    #expect(await validate("datalyr", web).out == "{\"success\":true}\n")
  }

  @Test func `An event over its protocol's limit is told so`() async throws {
    let large = SendProtocolTests.track(1).replacing("39.990", with: "\"\(String(repeating: "x", count: 65_536))\"")
    let json = try JSONValue(parsing: await validate("datalyr", large + "\n" + SendProtocolTests.track(2)).out)
    #expect(json["accepted"]?.integer() == 1)
    #expect(json["rejected"]?.array?.map { $0["status"]?.integer() } == [413])
    #expect(json["rejected"]?.array?.map { $0["event_id"]?.string } == ["order-1"])
  }

  @Test func `One event may stand on several lines`() async {
    let event = SendProtocolTests.track(1).replacing(",", with: ",\n  ")
    #expect(await validate("datalyr", event).out == "{\"accepted\":1,\"rejected\":[],\"clamped\":[]}\n")
    #expect(await validate("datalyr", "").err == "standard input holds no events\n")
  }
}
