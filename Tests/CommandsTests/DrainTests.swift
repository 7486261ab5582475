import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct DrainTests {
  private let directory = TemporaryDirectory()

  private func configuration(_ port: Int) -> String {
    directory.write("relay.yaml", "admin:\n  listen: 127.0.0.1:\(port)\n")
  }

  private static func state(_ upstream: Int, _ raw: Int, requests: Int = 0) -> String {
    #"{"draining":true,"pending":\#(upstream + raw),"requests":\#(requests),"destinations":{"upstream":\#(upstream),"raw":\#(raw)}}"#
  }

  @Test func `Asks until nothing waits`() async {
    let server = LoopbackServer { _, index in
      .init(body: Self.state(max(0, 2 - index), 0, requests: index == 2 ? 1 : 0))
    }
    let ran = await run("drain", "--config", configuration(server.port))
    #expect(ran.code == 0 && ran.out == "nothing waits any more\n" && ran.err.isEmpty)
    #expect(server.requests.map(\.target) == Array(repeating: "POST /drain?timeout=1000ms", count: 4))
  }

  @Test func `Gives up at the timeout and says who waits`() async {
    let server = LoopbackServer { _, _ in .init(body: Self.state(3, 0, requests: 1)) }
    let ran = await run("drain", "--config", configuration(server.port), "--timeout", "0s")
    #expect(ran.code == 1)
    #expect(ran.out == "3 still waiting: 3 for upstream, 1 request still open\n")
    #expect(ran.err == "event-relay status says what the rest waits for\n")
    #expect(server.requests.map(\.target) == ["POST /drain?timeout=0ms"])
    #expect(
      await run("drain", "--json", "--config", configuration(server.port), "--timeout", "0s").out == Self.state(
        3, 0, requests: 1) + "\n")
  }

  @Test func `Ends the draining`() async {
    let server = LoopbackServer { _, _ in .init(body: Self.state(3, 0)) }
    let ran = await run("drain", "--stop", "--config", configuration(server.port))
    #expect(ran.code == 0 && ran.out == "the relay takes events in again\n")
    #expect(server.requests.map(\.target) == ["POST /drain?stop"])
  }

  @Test func `Something else at the address is not taken for a relay`() async {
    let server = LoopbackServer { _, _ in .init(body: "{}") }
    let ran = await run("drain", "--config", configuration(server.port))
    #expect(ran.code == 1 && ran.err.contains("isn't a relay's"))
  }
}
