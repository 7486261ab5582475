import JSON

/// What a relay answered.
struct RelayAnswer: Sendable {
  var status: Int
  var body: [UInt8]

  var json: JSONValue? { try? JSONValue(parsing: body) }
}

/// One request to a relay over a connection of its own. Blocks, for at most the limit with each step.
enum RelayCall {
  /// - Parameter slices: in how many pieces the body goes out, with a pause between them.
  /// - Throws: ``TortureError`` when there is no whole answer.
  static func send(
    _ method: String, _ path: String, toPort port: UInt16, headers: [String] = [], body: [UInt8] = [],
    slices: Int = 1, within limit: Duration = .seconds(30)
  ) throws(TortureError) -> RelayAnswer {
    let wire = try Wire.connect(toPort: port, within: limit)
    return try send(method, path, over: wire, headers: headers, body: body, slices: slices)
  }

  /// The same over a connection that is open, and stays so.
  static func send(
    _ method: String, _ path: String, over wire: Wire, headers: [String] = [], body: [UInt8] = [], slices: Int = 1
  ) throws(TortureError) -> RelayAnswer {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
    for header in headers { head += "\(header)\r\n" }
    head += "Content-Length: \(body.count)\r\n\r\n"
    guard wire.send(Array(head.utf8)) else { throw TortureError("the relay takes no request") }
    let piece = max(1, body.count / max(1, slices))
    var at = 0
    while at < body.count {
      guard wire.send(body[at..<min(at + piece, body.count)]) else {
        throw TortureError("the relay takes no request's body")
      }
      at += piece
      if slices > 1 { Pause.sleep(.milliseconds(20)) }
    }
    guard let (line, headers) = wire.head(),
      let status = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { throw TortureError("no answer") }
    guard let answer = wire.body(Int(headers["content-length"] ?? "0") ?? 0) else {
      throw TortureError("half an answer")
    }
    return RelayAnswer(status: status, body: answer)
  }
}
