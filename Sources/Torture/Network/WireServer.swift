import Glibc
import Synchronization
import Threads

/// Takes connections on a free port of this machine, and gives each request to a closure, on a thread per connection.
final class WireServer: Sendable {
  struct Request: Sendable {
    var path: String
    var headers: [String: String]
    var body: [UInt8]
  }

  /// How long a connection may say nothing.
  private static let patience: Duration = .seconds(120)

  let port: UInt16
  private let listener: Int32
  private let open = Mutex<Set<Int32>>([])
  private let serve: @Sendable (Request, Wire) -> Bool

  /// - Parameter serve: answers a request; false when the connection is to be closed.
  init(name: String, _ serve: @escaping @Sendable (Request, Wire) -> Bool) throws(TortureError) {
    (listener, port) = try Loopback.listen()
    self.serve = serve
    let code = DetachedThread.start(name: name) { [self] in accept() }
    guard code == 0 else { throw TortureError("no thread: \(String(cString: strerror(code)))") }
  }

  /// Ends all connections, and takes no more.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    for connection in open.withLock({ $0 }) { shutdown(connection, Int32(SHUT_RDWR)) }
  }

  private func accept() {
    while true {
      let connection = Glibc.accept(listener, nil, nil)
      if connection < 0, errno == EINTR || errno == ECONNABORTED || errno == EMFILE { continue }
      guard connection >= 0 else { break }
      // (Not closed on exec: a child that is started closes all that isn't its own, see ChildStart.)
      open.withLock { _ = $0.insert(connection) }
      let code = DetachedThread.start(name: "connection") { [self] in
        serveAll(on: connection)
        open.withLock { _ = $0.remove(connection) }
      }
      if code != 0 { close(connection) }
    }
    close(listener)
  }

  private func serveAll(on connection: Int32) {
    let wire = Wire(connection)
    wire.setLimit(Self.patience)
    while let (line, headers) = wire.head() {
      let words = line.split(separator: " ")
      guard words.count == 3 else { return }
      if headers["expect"] != nil { _ = wire.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      guard let length = Int(headers["content-length"] ?? "0"), let body = wire.body(length) else { return }
      guard serve(Request(path: String(words[1]), headers: headers, body: body), wire) else { return }
    }
  }
}

extension Wire {
  /// Sends an answer with a body.
  func answer(_ status: Int, _ headers: [String] = [], _ body: String = "", type: String = "application/json") -> Bool {
    var head = "HTTP/1.1 \(status) \(status < 300 ? "OK" : "As Scripted")\r\n"
    for header in headers { head += "\(header)\r\n" }
    if status != 204 { head += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n" }
    return send(Array("\(head)\r\n\(body)".utf8))
  }
}
