import Foundation
import JSON
import Testing

extension EndToEnd {
  @Suite("What these tests stand on")
  struct SupportTests {
    @Test("takes JSON apart without changing a byte")
    func rawJSON() {
      let text = #"{"a": [1.0 , {"b":"x]\"}"}] ,"c":"d\\","a":  true }"#
      let members = RawJSON.members(Array(text.utf8))
      #expect(members.map(\.key) == ["a", "c", "a"])
      #expect(
        members.map { String(decoding: $0.value, as: UTF8.self) } == [#"[1.0 , {"b":"x]\"}"}]"#, #""d\\""#, "true"])
      #expect(
        RawJSON.elements(members[0].value).map { String(decoding: $0, as: UTF8.self) } == ["1.0", #"{"b":"x]\"}"}"#])
      #expect(RawJSON.elements(Array("[ ]".utf8)).isEmpty)
    }

    @Test("an upstream answers by its script, refuses connections, and comes back")
    func upstream() async throws {
      let upstream = try ScriptedUpstream()
      let address = try TestAddress(upstream.url)
      let events = [TestEvent(0), TestEvent(1), TestEvent(2)]
      let answer = try await RelayProcess.post(TestEvent.batch(events), to: address)
      #expect(answer.json == ["accepted": 3, "rejected": [], "clamped": []])
      #expect(upstream.record.value.events[events[1].id] == [events[1].bytes])
      upstream.behave { _ in .reset }
      await #expect(throws: TestFailure.self) { try await RelayProcess.post([], to: address) }
      upstream.refuseConnections()
      await #expect(throws: TestFailure.self) { try await RelayProcess.post([], to: address) }
      try upstream.listenAgain()
      upstream.behave { _ in .error(503, "server_error") }
      #expect(try await RelayProcess.post([], to: address).json?["code"]?.string == "server_error")
    }

    @Test("a process's output, lines and exit code arrive whole")
    func process() async throws {
      let child = try ChildProcess(["-c", "echo out; echo one >&2; printf two >&2; exit 7"], program: "/bin/sh")
      #expect(await child.wait() == 7)
      #expect(child.outputText == "out\n")
      #expect(child.errorText == "one\ntwo")
      #expect(await child.waitForLine("three") == nil)
      let endless = try ChildProcess(["-c", "echo on >&2; while :; do :; done"], program: "/bin/sh")
      #expect(await endless.waitForLine("on") != nil)
      endless.kill(9)
      #expect(await endless.wait() == 128 + 9)
    }
  }
}
