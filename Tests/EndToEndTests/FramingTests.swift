import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("How requests are framed")
  struct FramingTests {
    private let directory = TemporaryDirectory()

    /// What a case came to: the first answer's status, and how many answers there were.
    private struct Outcome: Sendable {
      var text: String

      var status: Int? {
        guard text.hasPrefix("HTTP/1.1 ") else { return nil }
        return Int(text.dropFirst(9).prefix(3))
      }
    }

    private func run(_ one: FramingCase, at address: TestAddress) throws -> Outcome {
      let connection = try TestConnection(to: address)
      // (It may be ended while the second request is written.)
      try? connection.write(one.bytes + one.next)
      return Outcome(text: connection.readToEnd())
    }

    @Test("is the same for every request as for whoever obeys RFC 9112, or it is refused, and nothing behind it is run")
    func table() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, intake: ", body_timeout: 4s"))
      let address = relay.ingest[0]
      let outcomes = try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
        for (number, one) in FramingCase.table.enumerated() {
          group.addTask { (number, try await onThread { try run(one, at: address) }) }
        }
        var all: [Int: Outcome] = [:]
        for try await (number, outcome) in group { all[number] = outcome }
        return all
      }
      #expect(try await relay.flush() == 0)
      // Events are taken whole, byte for byte, or not at all.
      let stored = upstream.record.value.events
      for (number, one) in FramingCase.table.enumerated() {
        let outcome = try #require(outcomes[number])
        let found = FramingCase.Verdict(status: outcome.status, goesOn: stored[one.canary.id] != nil)
        #expect(found == one.verdict, "\(one.name): \(outcome.text.prefix(300))")
        let isTaken = one.verdict.status == 200 || one.verdict.status == 100 && one.verdict.goesOn
        #expect(stored[one.event.id] == (isTaken ? [one.event.bytes] : nil), "\(one.name)")
        if one.verdict.goesOn { #expect(stored[one.canary.id] == [one.canary.bytes], "\(one.name)") }
      }
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("is what its page says, row by row")
    func page() throws {
      let path = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Relay/Docs.docc/RequestFraming.md").path
      let rows = readLines(path).filter { $0.hasPrefix("| ") && !$0.hasPrefix("| request |") }
      #expect(rows == FramingCase.table.map(\.row))
    }
  }
}
