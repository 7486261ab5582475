import CCrypto
import Glibc
import Synchronization

/// The webhook's receiver of a run: checks each request's signature, notes every event it took, and misbehaves by a script.
final class ScriptedReceiver: Sendable {
  /// The key that requests are signed with, and what the relay's configuration has of it.
  static let key = Array("a torture run's own webhook secret".utf8)

  let script: PeerScript
  private let mint: EventMint
  private let book: DebtBook
  private let notes = Mutex(ArrivalNotes())
  private let server = Mutex<WireServer?>(nil)

  init(_ mint: EventMint, _ book: DebtBook, _ script: PeerScript) {
    self.mint = mint
    self.book = book
    self.script = script
  }

  /// - Returns: the port it listens on.
  func start() throws(TortureError) -> UInt16 {
    let started = try WireServer(name: "receiver") { [weak self] in self?.serve($0, $1) ?? false }
    server.withLock { $0 = started }
    return started.port
  }

  func stop() { server.withLock { $0?.stop() } }

  var arrivals: ArrivalNotes { notes.withLock { $0 } }

  private func serve(_ request: WireServer.Request, _ wire: Wire) -> Bool {
    var (reply, stores) = script.next()
    // Any 2xx is a yes to a webhook: half of a body, a page or wrong counts are none the less so.
    switch reply {
    case .page, .half, .wrongCounts: stores = true
    default: break
    }
    if stores { store(request) }
    return wire.play(reply, honest: (200, "{}"))
  }

  private func store(_ request: WireServer.Request) {
    guard Self.isSigned(request) else {
      return notes.withLock {
        $0.add(.init(id: request.headers["webhook-id"] ?? "", detail: "a request with a wrong signature"))
      }
    }
    request.body.withUnsafeBytes { bytes in
      guard let data = JSONCutter.value("data", bytes, in: 0..<bytes.count),
        let events = JSONCutter.value("events", bytes, in: data)
      else { return notes.withLock { $0.add(.init(id: "", detail: "a body without events")) } }
      for line in JSONCutter.elements(bytes, in: events) { take(line, of: bytes) }
    }
  }

  private func take(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) {
    let record = RecordedLine(bytes, in: line, mint)
    if let oddity = record.oddity { notes.withLock { $0.add(oddity) } }
    if let number = record.number { book.change(number) { $0.hook &+= 1 } }
  }

  /// Whether a request bears the signature that the Standard Webhooks specification asks for.
  static func isSigned(_ request: WireServer.Request) -> Bool {
    guard let id = request.headers["webhook-id"], let moment = request.headers["webhook-timestamp"],
      let signature = request.headers["webhook-signature"]
    else { return false }
    let head = Array("\(id).\(moment).".utf8)
    var code = [UInt8](repeating: 0, count: 32)
    let done = crypto_hmac_sha256(
      key, key.count, head, head.count, request.body, request.body.count, &code)
    return done == 1 && signature == "v1,\(base64(code))"
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var out = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0..<4 { out.append(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : "=") }
    }
    return out
  }
}
