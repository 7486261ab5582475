import CZlib
import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Gzip bombs")
  struct GzipBombTests {
    private let directory = TemporaryDirectory()
    private static let clients = 500
    /// What the relay may need beyond what it has at rest.
    private static let memoryMax = 20 << 20

    /// So many blanks, compressed so often.
    private static func bomb(_ size: Int, times: Int = 1, format: Int32 = 31) -> [UInt8] {
      var bytes = [UInt8](repeating: 0x20, count: size)
      for _ in 0..<times {
        var stream = z_stream()
        deflateInit2_(
          &stream, 9, Z_DEFLATED, format, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        var out = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let input = UInt32(bytes.count)
        let room = UInt32(out.count)
        bytes.withUnsafeMutableBufferPointer { from in
          out.withUnsafeMutableBufferPointer { to in
            (stream.next_in, stream.avail_in) = (from.baseAddress, input)
            (stream.next_out, stream.avail_out) = (to.baseAddress, room)
            _ = deflate(&stream, Z_FINISH)
          }
        }
        out.removeLast(Int(stream.avail_out))
        deflateEnd(&stream)
        bytes = out
      }
      return bytes
    }

    private func request(_ body: [UInt8], _ encoding: String = "gzip") -> [UInt8] {
      Array(
        """
        POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: bomber\r\nContent-Type: application/json\r
        Content-Encoding: \(encoding)\r\nContent-Length: \(body.count)\r\n\r\n
        """.utf8) + body
    }

    /// Requests of bombers, each with the status it gets.
    private func bombs() -> [(bytes: [UInt8], status: String)] {
      let large = Self.bomb(100_000_000)
      return [
        (request(Self.bomb(1_000_000)), "400"), (request(Self.bomb(1_048_577)), "413"),
        (request(Self.bomb(30_000_000)), "413"), (request(large), "413"),
        // One in the other: what comes out is no JSON.
        (request(Self.bomb(100_000_000, times: 2)), "400"),
        (request(Self.bomb(30_000_000, format: -15), "deflate"), "413"),
        // Garbage behind it, which isn't come to.
        (request(large + [UInt8](repeating: 0xAA, count: 500)), "413"),
        (request(Self.bomb(200) + [UInt8](repeating: 0xAA, count: 500)), "400"),
        (request([0x78, 0x9C] + [UInt8](repeating: 0xAA, count: 500), "deflate"), "400"),
      ]
    }

    @Test("of 500 clients at once need less than 20 MB, and an honest sender beside them is served")
    func bombers() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let facts = ProcessFacts(id: relay.process.id)
      let address = relay.ingest[0]
      let bombs = bombs()
      let first = TestEvent(0)
      try await relay.accept([first])
      #expect(await upstream.hasTaken([first.id]))
      // What is needed once, whoever comes.
      for (bytes, _) in bombs { _ = try? await onThread { try TestConnection(to: address).exchange(bytes) } }
      facts.forgetPeak()
      let rest = facts.residentBytes
      let sockets = try await onThread { try RawSockets(Self.clients, to: address) }
      // First all of each bomb but its last bytes, so that all are there at once, then the rest of it.
      for part in [0, 1] {
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            _ = try? await onThread {
              for (number, descriptor) in sockets.descriptors.enumerated() {
                let bytes = bombs[number % bombs.count].bytes
                try sendAll(descriptor, part == 0 ? bytes.dropLast(3) : bytes.suffix(3))
              }
            }
          }
        }
        try await relay.accept((0..<20).map { TestEvent($0) })
      }
      let answers = try await onThread { try sockets.answers() }
      for (number, answer) in answers.enumerated() {
        #expect(answer.hasPrefix("HTTP/1.1 \(bombs[number % bombs.count].status) "), "\(number): \(answer)")
      }
      let peak = facts.residentPeakBytes
      print("at rest \(rest / 1024) KiB, at most \(peak / 1024) KiB")
      #expect(peak - rest < Self.memoryMax, "\(rest) at rest, \(peak) at most")
      try await relay.accept((0..<20).map { TestEvent($0) })
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("and bodies just under the limit, of 500 clients at once, need no more than the configuration gives them")
    func largeBodies() async throws {
      let relay = try await RelayProcess(directory, RelaySettings(intake: ", max_body_memory: 16MiB"))
      let facts = ProcessFacts(id: relay.process.id)
      let address = relay.ingest[0]
      try await relay.accept([TestEvent(0)])
      facts.forgetPeak()
      let rest = facts.residentBytes
      let sockets = try await onThread { try RawSockets(Self.clients, to: address) }
      let size = 1_000_000
      let head =
        "POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: k\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(size)\r\n\r\n"
      try await onThread {
        for descriptor in sockets.descriptors {
          try sendAll(descriptor, Array(head.utf8) + [UInt8](repeating: 0x20, count: size - 1))
        }
        // All but a byte is there.
        for descriptor in sockets.descriptors { try? sendAll(descriptor, [0x20]) }
      }
      let answers = try await onThread { try sockets.answers() }
      let statuses = Dictionary(grouping: answers) { $0.prefix(12) }.mapValues(\.count)
      #expect(Set(statuses.keys) == ["HTTP/1.1 400", "HTTP/1.1 503"], "\(statuses)")
      let peak = facts.residentPeakBytes
      print("at rest \(rest / 1024) KiB, at most \(peak / 1024) KiB; \(statuses)")
      // The connections' own memory besides, 36 KiB each, and what one body needs while it is read.
      #expect(peak - rest < (16 + 26) << 20, "\(rest) at rest, \(peak) at most")
      try await relay.accept([TestEvent(1)])
      #expect(try await relay.stop() == 0)
    }
  }
}
