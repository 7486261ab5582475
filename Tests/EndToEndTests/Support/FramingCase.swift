import Foundation

/// A request of the page "How requests are framed": as it goes over the wire, and what becomes of it.
///
/// Behind each comes a second request with an event of its own. Whether that is run says where the relay took the first one
/// to end.
struct FramingCase: Sendable {
  /// What becomes of it.
  struct Verdict: Sendable, Equatable, CustomStringConvertible {
    /// The first answer's; nil: there is none.
    var status: Int?
    /// What comes behind it is the next request. Else the connection ends, and nothing behind it is ever looked at.
    var goesOn: Bool

    var description: String { "\(status.map(String.init) ?? "no answer"), \(goesOn ? "goes on" : "closed")" }
  }

  let name: String
  let bytes: [UInt8]
  let verdict: Verdict
  let event: TestEvent
  let canary: TestEvent

  /// The row of the page.
  var row: String { "| \(name) | \(verdict) |" }

  /// The second request.
  var next: [UInt8] {
    let body = TestEvent.batch([canary])
    let head = """
      POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: aso_wk_test\r\nConnection: close\r
      Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n
      """
    return Array(head.utf8) + body
  }

  /// - Parameter make: makes the request for a body.
  private init(_ name: String, _ status: Int?, goesOn: Bool, _ make: ([UInt8]) -> [UInt8]) {
    self.name = name
    verdict = Verdict(status: status, goesOn: goesOn)
    event = TestEvent(1)
    canary = TestEvent(1)
    bytes = make(TestEvent.batch([event]))
  }

  // MARK: Kinds

  static let line = "POST /v1/events HTTP/1.1"
  static let host = "Host: relay"
  static let common = "X-Write-Key: aso_wk_test\r\nContent-Type: application/json"

  /// A plain body, told by these headers. `LEN` stands for its length.
  static func length(
    _ name: String, _ headers: String, _ status: Int?, goesOn: Bool = false, line: String = line, host: String = host,
    common: String = common, latin1: Bool = false
  ) -> FramingCase {
    FramingCase(name, status, goesOn: goesOn) { body in
      let head = [line, host, common, headers].filter { !$0.isEmpty }.joined(separator: "\r\n")
        .replacing("LEN", with: "\(body.count)")
      // (A character below U+0100 is that byte.)
      let bytes = latin1 ? head.unicodeScalars.map { UInt8($0.value) } : Array(head.utf8)
      return bytes + Array("\r\n\r\n".utf8) + body
    }
  }

  /// The same with another first line.
  static func first(
    _ name: String, _ line: String, _ status: Int?, goesOn: Bool = false, host: String = host
  ) -> FramingCase {
    length(name, "Content-Length: LEN", status, goesOn: goesOn, line: line, host: host)
  }

  /// Bytes with nothing added.
  static func raw(_ name: String, _ text: String, _ status: Int?, goesOn: Bool = false) -> FramingCase {
    FramingCase(name, status, goesOn: goesOn) { _ in Array(text.utf8) }
  }

  /// A chunked body. `HEX` stands for its length, `BODY` for itself.
  static func chunks(
    _ name: String, _ framing: String, _ status: Int?, headers: String = "Transfer-Encoding: chunked",
    line: String = line
  ) -> FramingCase {
    FramingCase(name, status, goesOn: false) { body in
      let head = [line, host, common, headers].joined(separator: "\r\n") + "\r\n\r\n"
      let text = framing.replacing("HEX", with: String(body.count, radix: 16))
        .replacing("BODY", with: String(decoding: body, as: UTF8.self))
      return Array((head + text).utf8)
    }
  }
}
