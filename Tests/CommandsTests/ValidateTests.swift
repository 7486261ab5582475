import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct ValidateTests {
  private let directory = TemporaryDirectory()

  @Test func `Lines are judged one by one, and listed as the API does`() async throws {
    let lines = [
      goodEvent(1), "", goodEvent(2, name: "a b"), "nonsense", #"{"event_id":7}"#, "  \(goodEvent(3))\r",
      goodEvent(4, at: "2020-01-01T00:00:00Z"), "[1]", #"{"event_id":"\u0078","name":"$x"}"#,
    ]
    let ran = await run("validate", directory.write("events.ndjson", "\u{FEFF}" + lines.joined(separator: "\n")))
    #expect(ran.code == 1)
    let answer = try JSONValue(parsing: ran.out)
    #expect(answer["accepted"] == 3)
    let rejected = try #require(answer["rejected"]?.array)
    #expect(rejected.map { $0["index"]?.integer() } == [1, 2, 3, 6, 7])
    #expect(
      rejected.map { $0["code"]?.string } == [
        "invalid_name", "invalid_event", "invalid_name", "invalid_event", "reserved_name",
      ])
    #expect(
      rejected.map { $0["event_id"]?.string } == ["00000000-0000-4000-8000-000000000002", nil, nil, nil, "x"])
    #expect(rejected.allSatisfy { $0.members?.map(\.key) == ["index", "event_id", "code", "message"] })
    #expect(answer["clamped"]?.array == [["index": 5, "event_id": "00000000-0000-4000-8000-000000000004"]])
    #expect(ran.out.contains(#""event_id":"\u0078""#), "ids are echoed as they were sent")
    #expect(ran.err == "3 accepted, 1 of them clamped; 5 rejected\n")
  }

  @Test func `Only good events are exit code 0`() async {
    let ran = await run("validate", "-", input: goodEvent(1) + "\n" + goodEvent(2))
    #expect(ran.code == 0 && ran.out == "{\"accepted\":2,\"rejected\":[],\"clamped\":[]}\n")
    #expect(await run("validate", "-", input: goodEvent(1, at: "2020-01-01T00:00:00Z")).code == 0)
  }

  @Test func `A body is judged as a request`() async throws {
    let body = "{\n \"sent\": \"by\\\"events\\\": [\",\n \"events\" : [\n\(goodEvent(1)),\n7]}\n"
    let ran = await run("validate", "-", input: body)
    let answer = try JSONValue(parsing: ran.out)
    #expect(ran.code == 1 && answer["accepted"] == 1)
    #expect(answer["rejected"]?.array?.first?["index"] == 1)
  }

  @Test(arguments: [
    ("{\"events\":[]}", "invalid_body"), ("{\"events\":[1", "invalid_body"), ("[{}]", "invalid_body"),
    ("{\"events\":[" + String(repeating: "1,", count: 100) + "1]}", "invalid_body"),
    ("{\"events\":[\"" + String(repeating: "x", count: 1 << 20) + "\"]}", "payload_too_large"),
  ])
  func `A body that is refused as a whole gets the API's error`(_ body: String, _ code: String) async throws {
    let ran = await run("validate", "-", input: body)
    #expect(ran.code == 1)
    #expect(try JSONValue(parsing: ran.out)["code"]?.string == code)
  }

  @Test func `One event may stand on several lines`() async {
    let event = goodEvent(1).replacing(",", with: ",\n  ")
    #expect(await run("validate", "-", input: event).out == "{\"accepted\":1,\"rejected\":[],\"clamped\":[]}\n")
    #expect(await run("validate", "-", input: event + "\n" + event).code == 1)
  }

  @Test func `A line longer than a request is rejected, and the rest goes on`() async throws {
    let long = "{\"name\":\"" + String(repeating: "x", count: 3 << 20) + "\"}"
    let ran = await run("validate", "-", input: [goodEvent(1), long, goodEvent(2)].joined(separator: "\n"))
    let answer = try JSONValue(parsing: ran.out)
    #expect(answer["accepted"] == 2)
    #expect(answer["rejected"]?.array?.map { $0["index"] } == [1])
    #expect(answer["rejected"]?.array?.first?["code"] == "event_too_large")
  }

  @Test func `A large file is read through`() async throws {
    let count = 20_000
    let text = (0..<count).map { $0 % 2 == 0 ? goodEvent($0) : "{}" }.joined(separator: "\n")
    let ran = await run("validate", "-", input: text)
    let answer = try JSONValue(parsing: ran.out)
    #expect(answer["accepted"]?.integer() == count / 2)
    #expect(answer["rejected"]?.array?.count == count / 2)
  }

  @Test func `A file without events says so`() async {
    let ran = await run("validate", "-", input: "\n \n")
    #expect(ran.code == 0 && ran.err == "standard input holds no events\n")
  }

  @Test func `A file that can't be read says why`() async {
    #expect(
      await run("validate", "/nowhere/x").err
        == "event-relay validate: \"/nowhere/x\" can't be opened: there is no such file\n")
    #expect(await run("validate", directory.path).err.hasSuffix("is a directory; name a file in it\n"))
    #expect(await run("validate", directory.path).code == 2)
  }
}
