import JSON
import Synchronization
import TestSupport
import Testing

@testable import Commands

@Suite struct UpstreamTests {
  @Test func `The stand-in takes what send sends, fails as told, and ends when it is told to`() async throws {
    let listens = Fact<String?>(nil)
    let ends = Fact(false)
    async let upstream = run(
      "upstream", "--listen", "127.0.0.1:0", "--fail", "503:1", "--retry-after", "3", "--limiter", "none",
      whenSaid: { text in if text.contains("listens at ") { listens.change { $0 = $0 ?? text } } },
      waitForStop: { await ends.wait { $0 } })
    let line = try #require(await listens.wait { $0 != nil } ?? nil)
    let address = try #require(line.split(separator: " ").last?.split(separator: "\n").first)
    let waits = Mutex<[Duration]>([])
    let sent = await run(
      "send", "--to", "http://\(address)", "--key", "aso_wk_1", "-", input: goodEvent(at: "2020-01-01T00:00:00Z"),
      sleep: { wait in waits.withLock { $0.append(wait) } })
    #expect(sent.code == 0)
    #expect(sent.out.hasPrefix("accepted  1  (1 of them clamped"), "\(sent.out)\(sent.err)")
    #expect(waits.withLock { $0 } == [.seconds(3)])
    ends.change { $0 = true }
    let ran = await upstream
    #expect(ran.code == 0 && ran.out.isEmpty)
    #expect(ran.err.contains("the stand-in upstream listens at 127.0.0.1:"))
  }

  @Test(arguments: [
    (["--listen", "8789"], "--listen: \"8789\" has no host; did you mean 127.0.0.1:8789?"),
    (
      ["--protocol", "al"], "--protocol wants app-store-operator, datalyr, voidhash, all, not \"al\"; did you mean all?"
    ),
    (["--requests-per-minute", "0"], "--requests-per-minute wants a whole number from 1 to 100000000, not \"0\""),
    (["--fail", "20"], "--fail wants a status from 400 to 599, or with a count as in 503:3, not \"20\""),
    (["--fail", "503:0"], "--fail wants a status from 400 to 599, or with a count as in 503:3, not \"503:0\""),
    (["--limiter", "slidin"], "--limiter wants sliding, fixed, bucket, none, not \"slidin\"; did you mean sliding?"),
    (["--retry-after", "soon"], "--retry-after wants a whole number from 0 to 86400, not \"soon\""),
    (["--latency", "1d"], "--latency wants a duration from 0s to 10m, such as 500ms, 2s or 1m, not \"1d\""),
    (["--minute", "2m"], "--minute wants a duration from 100ms to 1m, such as 500ms, 2s or 1m, not \"2m\""),
    (["--events-per-minute", "0"], "--events-per-minute wants a whole number from 1 to 100000000, not \"0\""),
    (
      ["--per-install-per-minute", "x"], "--per-install-per-minute wants a whole number from 1 to 100000000, not \"x\""
    ),
    (["--quota", "-1"], "--quota needs a value: --quota COUNT"),
  ])
  func `Wrong options say what would be right`(_ words: [String], _ message: String) async {
    let ran = await run(["upstream"] + words)
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err.hasPrefix("event-relay upstream: \(message)\n"))
  }

  @Test(arguments: [
    ("datalyr", SendProtocolTests.track(1), SendProtocolTests.track(2)),
    ("voidhash", SendProtocolTests.voidhash(1), SendProtocolTests.voidhash(2)),
    ("app-store-operator", goodEvent(1), goodEvent(2)),
  ])
  func `One of all protocols takes what send sends by each`(_ name: String, _ one: String, _ two: String) async throws {
    let listens = Fact<String?>(nil)
    let ends = Fact(false)
    async let upstream = run(
      "upstream", "--protocol", "all", "--listen", "127.0.0.1:0",
      whenSaid: { text in if text.contains("listens at ") { listens.change { $0 = $0 ?? text } } },
      waitForStop: { await ends.wait { $0 } })
    let line = try #require(await listens.wait { $0 != nil } ?? nil)
    let address = try #require(line.split(separator: " ").last?.split(separator: "\n").first)
    for _ in 0..<2 {
      let sent = await run(
        "send", "--protocol", name, "--to", "http://\(address)", "--key", "vh_pk_1", "-", input: one + "\n" + two)
      #expect(sent.code == 0 && sent.out.hasPrefix("accepted  2\n"), "\(sent.out)\(sent.err)")
    }
    // Of other protocols than the file's nothing can be sent by mistake.
    let other = name == "datalyr" ? "voidhash" : "datalyr"
    let wrong = await run("send", "--protocol", other, "--to", "http://\(address)", "--key", "k", "-", input: one)
    #expect(wrong.code == 1 && wrong.err.contains("rules: "), "\(wrong.err)")
    ends.change { $0 = true }
    #expect(await upstream.code == 0)
  }

  @Test func `An address that is taken says so, and the exit code is 1`() async {
    let other = LoopbackServer { _, _ in nil }
    let ran = await run("upstream", "--listen", "127.0.0.1:\(other.port)")
    #expect(ran.code == 1 && ran.out.isEmpty)
    #expect(ran.err.contains("127.0.0.1:\(other.port)"))
  }
}
