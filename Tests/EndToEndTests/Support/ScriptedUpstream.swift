import Foundation
import Synchronization
import TestSupport

/// An upstream that answers as a test tells it, and remembers what it took.
final class ScriptedUpstream: Sendable {
  struct Request: Sendable {
    /// From 1, over all connections.
    var number: Int
    var method: String
    var path: String
    var headers: [String: String]
    var body: [UInt8]
    /// The batch's events, each as it came.
    var events: [[UInt8]]
    var key: String { headers["x-write-key"] ?? "" }
  }

  enum Reply: Sendable {
    /// 200 with right counts (204 to an identify); the events are taken, but for those rejected with a code.
    case accept(rejected: [Int: String] = [:])
    /// As `accept`, and hangs up once the answer is out: the next request finds an idle connection closed.
    case acceptAndHangUp
    /// An answer, and nothing is taken.
    case answer(Int, headers: [String] = [], body: String = "")
    /// Resets the connection without an answer.
    case reset
    /// Answers nothing until the other side goes.
    case silence

    /// The spec's error object under a status.
    static func error(_ status: Int, _ code: String, headers: [String] = []) -> Reply {
      .answer(
        status, headers: headers + ["Content-Type: application/json"],
        body: #"{"code":"\#(code)","message":"as scripted"}"#)
    }
  }

  /// What came and what was taken.
  struct Record: Sendable {
    var connections = 0
    var requests: [Request] = []
    /// Requests that were answered with anything but `accept`.
    var refusals = 0
    /// The bytes of each taken event, every time it was taken, by its id in lower case.
    var events: [String: [[UInt8]]] = [:]
    /// Ids of events and install ids of identifies (`identify:` before them), as they were taken.
    var order: [String] = []
  }

  typealias Script = @Sendable (Request) -> Reply

  let record = Fact(Record())
  let port: UInt16
  var url: String { "http://127.0.0.1:\(port)" }

  private let script: Mutex<Script>
  /// Keeps the port ours while nothing listens on it.
  private let placeholder: Int32
  private struct Sockets {
    var listener: Int32 = -1
    var open: Set<Int32> = []
    /// Keeping bodies makes sense for few requests only.
    var keepsRequests = true
  }
  private let sockets = Mutex(Sockets())

  /// - Parameter wanted: the port; 0: the kernel chooses.
  init(
    listeningAt wanted: UInt16 = 0, keepsRequests: Bool = true, _ script: @escaping Script = { _ in .accept() }
  ) throws {
    self.script = Mutex(script)
    let first = try Self.bound(to: wanted)
    var name = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(first, $0, &length) }
    }
    port = UInt16(bigEndian: name.sin_port)
    placeholder = try Self.bound(to: port)
    sockets.withLock { $0.keepsRequests = keepsRequests }
    listen(on: first)
  }

  deinit {
    refuseConnections()
    close(placeholder)
  }

  /// Answers from now on as this says.
  func behave(_ script: @escaping Script) { self.script.withLock { $0 = script } }

  /// Stops listening and ends every connection: who connects is refused.
  func refuseConnections() {
    sockets.withLock { sockets in
      if sockets.listener >= 0 {
        shutdown(sockets.listener, Int32(SHUT_RDWR))
        sockets.listener = -1
      }
      for connection in sockets.open { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  /// Listens again on the same port.
  func listenAgain() throws { listen(on: try Self.bound(to: port)) }

  /// Waits until every one of these events was taken; says whether that came true.
  func hasTaken(_ ids: some Collection<String> & Sendable, within limit: Duration = .seconds(300)) async -> Bool {
    await record.wait(within: limit) { record in
      record.events.count >= ids.count && ids.allSatisfy { record.events[$0.lowercased()] != nil }
    } != nil
  }

  private static func bound(to port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var name = loopback(port: port)
    guard withSocketAddress(&name, { bind(descriptor, $0, $1) }) == 0 else {
      throw TestFailure("can't bind: \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  private func listen(on descriptor: Int32) {
    Foundation.listen(descriptor, 128)
    sockets.withLock { $0.listener = descriptor }
    Thread.detachNewThread { [weak self] in
      while true {
        let connection = accept(descriptor, nil, nil)
        if connection < 0, errno == EINTR || errno == ECONNABORTED { continue }
        guard connection >= 0 else { break }
        guard let self, sockets.withLock({ $0.open.insert(connection) }).inserted else {
          close(connection)
          break
        }
        record.change { $0.connections += 1 }
        Thread.detachNewThread { [weak self] in
          var incoming = Incoming(descriptor: connection)
          while let request = try? Self.request(&incoming), let self, serve(request, on: connection) {}
          self?.sockets.withLock { _ = $0.open.remove(connection) }
          close(connection)
        }
      }
      close(descriptor)
    }
  }

  private static func request(_ incoming: inout Incoming) throws -> Request {
    let head = try incoming.head()
    let headers = Incoming.headers(head)
    if headers["expect"] != nil { try sendAll(incoming.descriptor, Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    let line = (head.first ?? "").components(separatedBy: " ")
    let body = try incoming.body(headers, untilClosed: false)
    return Request(
      number: 0, method: line.first ?? "", path: line.dropFirst().first ?? "", headers: headers, body: body,
      events: RawJSON.elements(RawJSON.member("events", of: body) ?? []))
  }

  /// Answers a request; false when the connection is to be ended.
  private func serve(_ request: Request, on connection: Int32) -> Bool {
    let keeps = sockets.withLock { $0.keepsRequests }
    let request = Mutex(request)
    record.change { record in
      request.withLock {
        $0.number = record.requests.count + 1
        var kept = $0
        if !keeps {
          kept.body = []
          kept.events = []
        }
        record.requests.append(kept)
      }
    }
    let numbered = request.withLock { $0 }
    let reply = script.withLock { $0 }(numbered)
    switch reply {
    case .accept(let rejected):
      return take(numbered, rejected: rejected, on: connection)
    case .acceptAndHangUp:
      _ = take(numbered, rejected: [:], on: connection)
      return false
    case .answer(let status, let headers, let body):
      record.change { $0.refusals += 1 }
      return answer(status, headers, body, on: connection)
    case .reset:
      var abort = linger(l_onoff: 1, l_linger: 0)
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
      record.change { $0.refusals += 1 }
      return false
    case .silence:
      record.change { $0.refusals += 1 }
      var byte: UInt8 = 0
      while recv(connection, &byte, 1, 0) > 0 {}
      return false
    }
  }

  private func take(_ request: Request, rejected: [Int: String], on connection: Int32) -> Bool {
    if request.path.hasSuffix("/identify") {
      let install = RawJSON.string("anonymous_id", of: request.body) ?? ""
      record.change { $0.order.append("identify:\(install)") }
      return answer(204, [], "", on: connection)
    }
    let named = request.events.map { (id: RawJSON.string("event_id", of: $0)?.lowercased() ?? "", bytes: $0) }
    record.change { record in
      for (index, event) in named.enumerated() where rejected[index] == nil {
        record.events[event.id, default: []].append(event.bytes)
        record.order.append(event.id)
      }
    }
    let refusals = rejected.sorted { $0.key < $1.key }.map { index, code in
      #"{"index":\#(index),"event_id":"\#(named[index].id)","code":"\#(code)","message":"as scripted"}"#
    }
    let body = """
      {"accepted":\(named.count - rejected.count),"rejected":[\(refusals.joined(separator: ","))],"clamped":[]}
      """
    return answer(200, ["Content-Type: application/json"], body, on: connection)
  }

  private func answer(_ status: Int, _ headers: [String], _ body: String, on connection: Int32) -> Bool {
    var text = "HTTP/1.1 \(status) Scripted\r\n"
    for header in headers { text += header + "\r\n" }
    if status != 204 { text += "Content-Length: \(body.utf8.count)\r\n" }
    return (try? sendAll(connection, Array((text + "\r\n" + body).utf8))) != nil
  }
}
