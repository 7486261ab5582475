/// The upstream of a run: speaks the Events API.
struct ScriptedUpstream: PeerPart {
  static let name = "upstream"

  func answer(
    _ request: WireServer.Request, over wire: Wire, _ turn: (reply: PeerScript.Reply, stores: Bool), _ notes: PeerNotes
  ) -> Bool {
    let (reply, stores) = turn
    let isIdentify = request.path == "/v1/identify"
    guard isIdentify || request.path == "/v1/events" else {
      return wire.answer(404, [], #"{"code":"not_found","message":""}"#)
    }
    guard isIdentify else { return wire.play(reply, honest: (200, batch(request.body, stores: stores, notes))) }
    // Half of no body is none: a yes.
    if stores || reply == .half || reply == .wrongCounts { storeIdentify(request.body, notes) }
    return wire.play(reply, honest: (204, ""))
  }

  /// Stores a batch's events if it is to; the right answer.
  private func batch(_ body: [UInt8], stores: Bool, _ notes: PeerNotes) -> String {
    body.withUnsafeBytes { bytes in
      let events =
        JSONCutter.value("events", bytes, in: 0..<bytes.count).map { JSONCutter.elements(bytes, in: $0) } ?? []
      var rejected: [String] = []
      for (index, range) in events.enumerated() {
        let id = JSONCutter.text("event_id", bytes, in: range) ?? ""
        guard let number = notes.mint.number(ofID: id) else {
          if stores { notes.add(.init(id: id, detail: "an event that nobody minted")) }
          continue
        }
        if notes.mint.kind(number) == .unwanted {
          rejected.append(
            #"{"index":\#(index),"event_id":"\#(id)","code":"too_many_event_names","message":"as scripted"}"#)
        } else if stores {
          store(number, id, Array(bytes[range]), notes)
        }
      }
      return
        #"{"accepted":\#(events.count - rejected.count),"rejected":[\#(rejected.joined(separator: ","))],"clamped":[]}"#
    }
  }

  private func store(_ number: Int, _ id: String, _ event: [UInt8], _ notes: PeerNotes) {
    let minted = notes.mint.bytes(number)
    if event != minted {
      if let used = Self.clampedTime(of: event, minted) {
        notes.clamped(number, to: used)
      } else {
        notes.add(.init(number: number, id: id, detail: "its bytes are others than were sent", isAltered: true))
      }
    }
    notes.took(number) { $0.upstream &+= 1 }
  }

  /// The time that stands in place of the minted one, where that is all that differs.
  static func clampedTime(of event: [UInt8], _ minted: [UInt8]) -> String? {
    guard let was = EventMint.occurredAt(in: minted), let now = EventMint.occurredAt(in: event),
      event[..<now.lowerBound] == minted[..<was.lowerBound], event[now.upperBound...] == minted[was.upperBound...]
    else { return nil }
    return String(decoding: event[now].dropFirst().dropLast(), as: UTF8.self)
  }

  private func storeIdentify(_ body: [UInt8], _ notes: PeerNotes) {
    let user = body.withUnsafeBytes { JSONCutter.text("user_id", $0, in: 0..<$0.count) } ?? ""
    guard let number = notes.mint.number(ofUser: user), notes.mint.kind(number) == .identify else {
      return notes.add(.init(id: user, detail: "an identify call that nobody made"))
    }
    if body != notes.mint.bytes(number) {
      notes.add(.init(number: number, id: user, detail: "its bytes are others than were sent", isAltered: true))
    }
    notes.took(number) { $0.upstream &+= 1 }
  }
}

extension Wire {
  /// Answers as a script says.
  /// - Returns: false when the connection is to be closed.
  func play(_ reply: PeerScript.Reply, honest: (status: Int, body: String)) -> Bool {
    switch reply {
    case .honest: return answer(honest.status, [], honest.body)
    case .reset:
      reset()
      return false
    case .stall(let length):
      Pause.sleep(length)
      return false
    case .status(let status, let ownWords):
      return ownWords
        ? answer(status, [], #"{"code":"server_error","message":"as scripted"}"#)
        : answer(status, [], "<html>Bad gateway</html>", type: "text/html")
    case .limited(let seconds):
      return answer(429, ["Retry-After: \(seconds)"], #"{"code":"rate_limited","message":"as scripted"}"#)
    case .page: return answer(200, [], "<html><body>Please log in</body></html>", type: "text/html")
    case .half: return answer(200, [], String(honest.body.prefix(honest.body.count / 2)))
    case .cut:
      _ = send(
        Array("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n\(honest.body)".utf8))
      return false
    case .wrongCounts:
      // (What is rejected stays named: else the lie would be that it was stored.)
      let rest = honest.body.firstIndex(of: ",").map { String(honest.body[$0...]) } ?? "}"
      return answer(200, [], "{\"accepted\":100000\(rest)")
    }
  }
}
