import Clocks
import DeadLetters
import EventLog
import Glibc
import HTTPClient
import JSON
import Observability
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// A small server on loopback that takes one request after the other on each connection, and stores what it gets.
private final class WireServer: Sendable {
  let port: UInt16
  private let listener: Int32
  /// The numbers of the events it has had.
  let stored = Fact<[Int]>([])

  /// Takes a port; connections are refused until ``open()``.
  init() {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    port = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        precondition(bind(listener, address, size) == 0, "can't bind")
        getsockname(listener, address, &size)
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
      }
    }
  }

  func open() {
    precondition(listen(listener, 16) == 0, "can't listen")
    Self.thread { [listener] in
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        Self.thread { self.serve(connection) }
      }
    }
  }

  func close() { shutdown(listener, Int32(SHUT_RDWR)) }

  private static func thread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      {
        Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil
      },
      Unmanaged.passRetained(Box(body)).toOpaque())
    pthread_detach(thread)
  }

  private func serve(_ connection: Int32) {
    defer { Glibc.close(connection) }
    var buffer: [UInt8] = []
    while let body = Self.request(connection, &buffer) {
      let events = (try? JSONValue(parsing: body))?["events"]?.array ?? []
      stored.change { $0 += events.compactMap { $0["n"]?.integer() } }
      let answer = #"{"accepted":\#(events.count),"rejected":[],"clamped":[]}"#
      let response =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
      _ = Array(response.utf8).withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }

  /// The next request's body; nil when the connection is over.
  private static func request(_ connection: Int32, _ buffer: inout [UInt8]) -> [UInt8]? {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let text = String(decoding: buffer.prefix(4096), as: UTF8.self)
      if let end = text.firstRange(of: "\r\n\r\n") {
        let head = text[..<end.lowerBound]
        let length =
          head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
          .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) } ?? 0
        let start = head.utf8.count + 4
        if buffer.count >= start + length {
          defer { buffer.removeFirst(start + length) }
          return Array(buffer[start..<start + length])
        }
      }
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      buffer += chunk[..<count]
    }
  }
}

@Suite("The upstream's destination over a real connection", .serialized, .timeLimit(.minutes(2)))
struct WireTests {
  private let scene = Scene()

  private func start(port: UInt16) -> (loop: HTTPClientLoop, life: Scene.Life) {
    let loop = HTTPClientLoop(logger: scene.logger)
    loop.start()
    let subscription = FakeSubscription(scene.log)
    let destination = UpstreamDestination(
      upstreams: Upstreams(
        usual: UpstreamConfiguration(
          url: "http://127.0.0.1:\(port)", linger: .milliseconds(1),
          retry: .init(initial: .milliseconds(20), max: .milliseconds(20)))), subscription: subscription, client: loop,
      scheduler: loop, keys: scene.keys,
      deadLetters: DeadLetterStore(directory: scene.deadLetterDirectory, logger: scene.logger), relay: "test-relay",
      metrics: scene.metrics, logger: scene.logger)
    destination.start()
    return (loop, Scene.Life(destination: destination, subscription: subscription))
  }

  @Test("delivers, and stops with everything on record")
  func delivers() async {
    let server = WireServer()
    server.open()
    defer { server.close() }
    let (loop, life) = start(port: server.port)
    scene.store(0..<950)
    life.subscription.progress()
    #expect(await server.stored.wait { $0.count == 950 } == Array(0..<950))
    scene.store(950..<955)
    await life.destination.stop(until: .now + .seconds(60))
    #expect(server.stored.value == Array(0..<955))
    #expect(scene.log.disk.tally == Tally([.delivered: 955]))
    #expect(life.status.state == .stopped)
    await loop.shutdown()
  }

  @Test("goes on when the upstream comes back")
  func comesBack() async throws {
    let server = WireServer()
    defer { server.close() }
    let (loop, life) = start(port: server.port)
    scene.store(0..<250)
    life.subscription.progress()
    await scene.lines.wait { $0.contains { $0.contains("the upstream can't be reached") } }
    // The line comes before the state; the suite's time limit ends a wait in vain.
    try await lookAgain { life.status.state != .waiting }
    #expect(life.status.detail?.contains("connect") == true)
    server.open()
    #expect(await server.stored.wait { $0.count == 250 } == Array(0..<250))
    await scene.lines.wait { $0.contains { $0.contains("the upstream answers again") } }
    await life.destination.stop(until: .now + .seconds(60))
    #expect(scene.log.disk.tally == Tally([.delivered: 250]))
    await loop.shutdown()
  }
}
