import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct ReplayTests {
  private let directory = TemporaryDirectory()
  private let configuration: String

  init() {
    let port = LoopbackServer.closedPort()
    configuration = directory.write("relay.yaml", "admin: { listen: 127.0.0.1:\(port) }")
  }

  private func replay(_ words: String...) async -> Ran { await run(["replay", "--config", configuration] + words) }

  private func answer(
    _ state: String, matched: Int = 500, sent: Int = 0, before: Int = 0, waiting: Int = 0, clamped: Int = 0,
    error: String? = nil
  ) throws -> ReplayAnswer {
    try #require(
      ReplayAnswer([
        "id": "1", "to": "raw", "state": .string(state), "matched": JSONValue(matched), "sent": JSONValue(sent),
        "sent_before": JSONValue(before), "waiting": JSONValue(waiting), "clamped": JSONValue(clamped),
        "unreadable": 0, "error": JSONValue(error),
      ]))
  }

  @Test(arguments: [
    ([], "replay wants --to NAME"), (["--to", "raw"], "either --from-log or --from-archive DIR"),
    (["--to", "raw", "--from-log", "--from-archive", "x"], "either --from-log or --from-archive DIR"),
    (["--to", "raw", "--from-log", "--rate", "0"], "--rate wants a whole number from 1 to 1000000"),
    (["--to", "raw", "--from-log", "--since", "soon"], "--since wants a time such as"),
  ])
  func `A line that makes no sense is refused with what would be right`(_ words: [String], _ expected: String) async {
    let ran = await run(["replay", "--config", configuration] + words)
    #expect(ran.code == 2)
    #expect(ran.err.contains(expected), "\(ran.err)")
  }

  @Test func `Without a relay and without files nothing can be sent`() async {
    let ran = await replay("--to", "raw", "--from-log")
    #expect(ran.code == 1)
    #expect(ran.err.contains("no relay runs, and"), "\(ran.err)")
  }

  @Test func `Dropping dead letters wants to know which`() async {
    let ran = await run(["dead-letters", "drop", "--config", configuration])
    #expect(ran.code == 2 && ran.err.contains("a filter that says which, or --all"))
  }

  @Test(arguments: ["", "two words", "ı"])
  func `A file that holds no key is refused without its contents`(_ content: String) async {
    let file = directory.write("key", content)
    let ran = await run(["dead-letters", "replay", "--config", configuration, "--write-key-file", file])
    #expect(ran.code == 2 && ran.err.contains("must hold one write key and nothing else"), "\(ran.err)")
    #expect(content.isEmpty || !ran.err.contains(content))
  }

  @Test func `Progress tells speed and the time that is left`() throws {
    #expect(ReplayProgress.line(try answer("sending"), elapsed: 3) == "raw: 0 of 500 events")
    #expect(
      ReplayProgress.line(try answer("sending", sent: 300, before: 100), elapsed: 2)
        == "raw: 300 of 500 events, 100/s, 2 s left")
    #expect(
      ReplayProgress.line(try answer("sending", matched: 1_000_000, sent: 1000), elapsed: 10)
        == "raw: 1000 of 1000000 events, 100/s, 2 h 46 min left")
  }

  @Test func `What has become of it is said in sentences`() throws {
    #expect(
      ReplayReport.text(try answer("done", matched: 1), isDryRun: true, isOffline: false)
        == "1 event would be sent to raw")
    #expect(
      ReplayReport.text(try answer("done", sent: 500, waiting: 1), isDryRun: false, isOffline: false)
        == "500 events sent again to raw; 1 of its queue still waits")
    #expect(ReplayReport.trouble(try answer("done")) == nil)
    #expect(
      ReplayReport.trouble(try answer("failed", sent: 7, error: "the disk is on fire"))
        == "raw: the disk is on fire; 7 of 500 events, run the same command to go on")
  }
}
