import CCrypto

/// The webhook's receiver of a run: checks each request's signature.
struct ScriptedReceiver: PeerPart {
  static let name = "receiver"
  /// The key that requests are signed with, and what the relay's configuration has of it.
  static let key = Array("a torture run's own webhook secret".utf8)

  func answer(
    _ request: WireServer.Request, over wire: Wire, _ turn: (reply: PeerScript.Reply, stores: Bool), _ notes: PeerNotes
  ) -> Bool {
    // Any 2xx is a yes to a webhook: half of a body, a page or wrong counts are none the less so.
    let isYes = [.page, .half, .wrongCounts].contains(turn.reply)
    if turn.stores || isYes { store(request, notes) }
    return wire.play(turn.reply, honest: (200, "{}"))
  }

  private func store(_ request: WireServer.Request, _ notes: PeerNotes) {
    guard Self.isSigned(request) else {
      return notes.add(.init(id: request.headers["webhook-id"] ?? "", detail: "a request with a wrong signature"))
    }
    request.body.withUnsafeBytes { bytes in
      guard let data = JSONCutter.value("data", bytes, in: 0..<bytes.count),
        let events = JSONCutter.value("events", bytes, in: data)
      else { return notes.add(.init(id: "", detail: "a body without events")) }
      for line in JSONCutter.elements(bytes, in: events) {
        let record = RecordedLine(bytes, in: line, notes.mint)
        if let oddity = record.oddity { notes.add(oddity) }
        if let number = record.number { notes.took(number) { $0.hook &+= 1 } }
      }
    }
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

  /// (The run has its own, as it has everything that it judges the relay by.)
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
