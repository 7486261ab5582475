import Clocks
import DeadLetters
import EventLog
import Foundation
import HTTPClient
import Observability
import Synchronization
import TestSupport
import Testing

@testable import Sinks

@Suite("A started webhook", .timeLimit(.minutes(2)))
struct WebhookSinkTests {
  private let directory = TemporaryDirectory()
  private let log = MemoryLog()

  private func start(_ url: String, _ change: (inout WebhookOptions) -> Void = { _ in }) -> any Destination {
    var options = WebhookOptions(url: url)
    options.linger = .zero
    options.maxBatchEvents = 10
    options.retry = WebhookRetry(initial: .milliseconds(1), max: .milliseconds(2), giveUpAfter: .seconds(3600))
    change(&options)
    let sink = WebhookSinkType().make(
      options,
      SinkContext(
        name: "hook", subscription: log.subscribe("hook"), relay: "r-1",
        deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent),
        metrics: MetricsRegistry(), logger: .silent))
    sink.start()
    return sink
  }

  private func add(_ count: Int = 1) {
    for _ in 0..<count { log.append(#"{"a":1}"#, at: WallClock.system.now) }
  }

  /// The value of a request's header.
  private func header(_ name: String, of request: ScriptedConnection.Request) -> String? {
    request.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
      .map { $0.dropFirst(name.utf8.count + 1).trimmingCharacters(in: .whitespaces) }
  }

  @Test("posts over one connection, and settles what a flush and a stop find")
  func posts() async {
    let server = ScriptedServer.agreeable()
    let sink = start(server.url)
    add(25)
    #expect(await sink.flush(until: .now + .seconds(60)).pending == 0)
    let requests = server.requests.value
    #expect(requests.count >= 3 && server.connections.value == 1)
    #expect(requests.allSatisfy { $0.head.hasPrefix("POST /v1/events HTTP/1.1\r\n") })
    #expect(requests.allSatisfy { header("user-agent", of: $0) == "event-relay" })
    #expect(requests.allSatisfy { header("content-type", of: $0) == "application/json" })
    add(25)
    await sink.stop(until: .now + .seconds(60))
    #expect(log.state.withLock { $0.committed } == 50)
    #expect(sink.status.state == .stopped)
  }

  /// What a receiver does wrong before it takes the batch after all.
  enum Wrong: String, CaseIterable {
    case closes, resets, half, halfHead, garbage, redirect, permanentRedirect, unavailable, tooMany, slow, early
  }

  @Test("sends the same until it is taken, whatever the receiver does first", arguments: Wrong.allCases)
  func wrong(_ wrong: Wrong) async throws {
    let isWrong = Fact(true)
    let server = ScriptedServer { connection, _ in
      while connection.readRequest() != nil {
        guard isWrong.value else {
          connection.answer("204 No Content", "")
          continue
        }
        switch wrong {
        case .closes: return
        case .resets: return connection.reset()
        case .half: return _ = connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        case .halfHead: return _ = connection.write("HTTP/1.1 200 OK\r\nContent-Len")
        case .garbage: return _ = connection.write("220 smtp.example ESMTP\r\n\r\n")
        case .redirect: connection.answer("302 Found", "", headers: ["Location: /elsewhere"])
        case .permanentRedirect: connection.answer("308 Moved", "", headers: ["Location: http://127.0.0.1:1/"])
        case .unavailable: connection.answer("503 No", "<html>")
        case .tooMany: connection.answer("429 No", "", headers: ["Retry-After: 0"])
        case .slow:
          // A byte now and then keeps a connection busy, and no request alive beyond its time.
          let pace = DispatchSemaphore(value: 0)
          while connection.write("H") { _ = pace.wait(timeout: .now() + .milliseconds(5)) }
          return
        case .early:
          connection.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
          return
        }
      }
    }
    let sink = start(server.url) { $0.timeout = wrong == .slow ? .milliseconds(100) : .seconds(60) }
    add(3)
    #expect(await server.requests.wait { $0.count >= 3 } != nil)
    #expect(sink.status.ledger.settled.total == 0)
    isWrong.change { $0 = false }
    #expect(await log.committed.wait { $0 == 3 } != nil)
    let requests = server.requests.value
    #expect(Set(requests.map(\.body)).count == 1)
    #expect(Set(requests.map { header("webhook-id", of: $0) }).count == 1)
    #expect(requests.allSatisfy { $0.head.hasPrefix("POST /v1/events ") })
    await sink.stop(until: .now + .seconds(60))
  }

  @Test("takes a 200 for what it is, with a body of any length or a wrong one")
  func longAnswers() async {
    let server = ScriptedServer { connection, number in
      guard connection.readRequest() != nil else { return }
      switch number {
      case 1:
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
        while connection.write([UInt8](repeating: 120, count: 65_536)) {}
      case 2: connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n")
      default: connection.answer()
      }
    }
    let sink = start(server.url)
    add(35)
    #expect(await log.committed.wait { $0 == 35 } != nil)
    #expect(server.requests.value.count == 4)
    await sink.stop(until: .now + .seconds(60))
  }

  @Test(
    "says what is wrong with a name that doesn't resolve, and a port where nobody listens",
    arguments: [("http://receiver.invalid/", "DNS"), ("http://127.0.0.1:\(ScriptedServer.deadPort())/", "(connect)")])
  func unreachable(_ url: String, _ word: String) async throws {
    let sink = start(url)
    add()
    try await lookAgain { sink.status.state != .waiting }
    #expect(sink.status.detail?.contains(word) == true, "\(sink.status.detail ?? "")")
    #expect(sink.status.lastError == sink.status.detail)
    await sink.stop(until: .now)
  }

  @Test("hangs with its receiver, and nobody with it: not a flush, nor a stop, nor the threads of others")
  func hanging() async throws {
    let goes = Fact(false)
    let server = ScriptedServer { connection, _ in
      _ = connection.readRequest()
      while connection.read(atMost: 1) != nil {}
      goes.change { $0 = true }
    }
    let sink = start(server.url) { $0.timeout = .seconds(600) }
    add()
    #expect(await server.requests.wait { $0.count == 1 } != nil)
    #expect(await sink.flush(until: .now + .milliseconds(50)) == FlushResult(flushed: 0, pending: 1))
    #expect(sink.status.stuckSince == nil, "a receiver that hangs doesn't make the relay look stuck")
    let before = ContinuousClock.now
    await sink.stop(until: .now + .milliseconds(50))
    #expect(ContinuousClock.now - before < .seconds(30))
    #expect(sink.status.state == .stopped)
    // It broke the request off.
    #expect(await goes.wait { $0 } == true)
  }

  @Test("waits with a stop for the answer to come, as long as it may")
  func stopWaits() async {
    let mayAnswer = Fact(false)
    let server = ScriptedServer { connection, _ in
      while connection.readRequest() != nil {
        let done = DispatchSemaphore(value: 0)
        Task {
          await mayAnswer.wait { $0 }
          done.signal()
        }
        done.wait()
        connection.answer()
      }
    }
    let sink = start(server.url)
    add()
    #expect(await server.requests.wait { $0.count == 1 } != nil)
    async let stopped: Void = sink.stop(until: .now + .seconds(60))
    mayAnswer.change { $0 = true }
    await stopped
    #expect(log.state.withLock { $0.committed } == 1)
  }
}
