import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Too few open files")
  struct OpenFilesTests {
    private func port(_ address: TestAddress) throws -> Int {
      guard case .tcp(_, let port) = address else { throw TestFailure("no TCP address") }
      return Int(port)
    }

    @Test("a server that had none left for a new connection takes new ones as soon as others end")
    func exhausted() async throws {
      let command = ChildProcess.command(openFiles: 40)
      let words = [ChildProcess.eventRelay, "upstream", "--listen", "127.0.0.1:0"]
      let standIn = try ChildProcess(Array(command.dropFirst()) + words, program: command[0])
      let line = try #require(await standIn.waitForLine("127.0.0.1:"), "\(standIn.errorText)")
      let address = try TestAddress(String(line[line.range(of: "127.0.0.1:")!.lowerBound...]))
      let port = try port(address)
      let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(standIn.id)/fd").count
      var clients: [RawClient] = []
      for _ in 0..<50 {
        clients.append(try RawClient(port: port))
        await clients[clients.count - 1].send("GET /stats HTTP/1.1\r\nHost: h\r\n\r\n")
      }
      let room = 40 - files
      let waiting = Array(clients[room...])
      clients.removeSubrange(room...)
      for client in clients { #expect(try await client.response().status == 200) }
      for client in waiting {
        // Ends the oldest connection.
        clients.removeFirst()
        #expect(try await client.response().status == 200)
        clients.append(client)
      }
    }
  }
}
