import Glibc
import Synchronization

/// The upstream of a run: speaks the Events API, notes every event it stored, and misbehaves by a script.
final class ScriptedUpstream: Sendable {
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
    let started = try WireServer(name: "upstream") { [weak self] in self?.serve($0, $1) ?? false }
    server.withLock { $0 = started }
    return started.port
  }

  func stop() { server.withLock { $0?.stop() } }

  var arrivals: ArrivalNotes { notes.withLock { $0 } }

  private func serve(_ request: WireServer.Request, _ wire: Wire) -> Bool {
    var (reply, stores) = script.next()
    let isIdentify = request.path == "/v1/identify"
    guard isIdentify || request.path == "/v1/events" else {
      return wire.answer(404, [], #"{"code":"not_found","message":""}"#)
    }
    let answer: String
    if isIdentify {
      // Half of no body is none: a yes.
      if reply == .half || reply == .wrongCounts { stores = true }
      if stores { storeIdentify(request.body) }
      answer = ""
    } else {
      answer = batch(request.body, stores: stores)
    }
    return wire.play(reply, honest: (isIdentify ? 204 : 200, answer))
  }

  /// Stores a batch's events if it is to; the right answer.
  private func batch(_ body: [UInt8], stores: Bool) -> String {
    body.withUnsafeBytes { bytes in
      let events =
        JSONCutter.value("events", bytes, in: 0..<bytes.count).map { JSONCutter.elements(bytes, in: $0) } ?? []
      var rejected: [String] = []
      for (index, range) in events.enumerated() {
        let id = JSONCutter.text("event_id", bytes, in: range) ?? ""
        guard let number = mint.number(ofID: id) else {
          if stores { note(.init(id: id, detail: "an event that nobody minted")) }
          continue
        }
        if mint.kind(number) == .unwanted {
          rejected.append(
            #"{"index":\#(index),"event_id":"\#(id)","code":"too_many_event_names","message":"as scripted"}"#)
        } else if stores {
          store(number, id, Array(bytes[range]))
        }
      }
      return
        #"{"accepted":\#(events.count - rejected.count),"rejected":[\#(rejected.joined(separator: ","))],"clamped":[]}"#
    }
  }

  private func store(_ number: Int, _ id: String, _ event: [UInt8]) {
    let minted = mint.bytes(number)
    if event != minted {
      if let used = Self.clampedTime(of: event, minted) {
        notes.withLock { _ = $0.clamped[number, default: []].insert(used) }
      } else {
        note(.init(number: number, id: id, detail: "its bytes are others than were sent", isAltered: true))
      }
    }
    book.change(number) { $0.upstream &+= 1 }
  }

  /// The time that stands in place of the minted one, where that is all that differs.
  static func clampedTime(of event: [UInt8], _ minted: [UInt8]) -> String? {
    guard let was = EventMint.occurredAt(in: minted), let now = EventMint.occurredAt(in: event),
      event[..<now.lowerBound] == minted[..<was.lowerBound], event[now.upperBound...] == minted[was.upperBound...]
    else { return nil }
    return String(decoding: event[now].dropFirst().dropLast(), as: UTF8.self)
  }

  private func storeIdentify(_ body: [UInt8]) {
    let user = body.withUnsafeBytes { JSONCutter.text("user_id", $0, in: 0..<$0.count) } ?? ""
    guard let number = mint.number(ofUser: user), mint.kind(number) == .identify else {
      return note(.init(id: user, detail: "an identify call that nobody made"))
    }
    if body != mint.bytes(number) {
      note(.init(number: number, id: user, detail: "its bytes are others than were sent", isAltered: true))
    }
    book.change(number) { $0.upstream &+= 1 }
  }

  private func note(_ oddity: ArrivalNotes.Oddity) { notes.withLock { $0.add(oddity) } }
}

/// What came to a peer that isn't simply an event as it was sent.
struct ArrivalNotes: Sendable, Equatable {
  struct Oddity: Sendable, Equatable {
    var number: Int?
    var id: String
    var detail: String
    /// Another event's bytes; else one that should not be here.
    var isAltered = false
  }

  /// The first of them.
  var oddities: [Oddity] = []
  var oddityCount = 0
  var alteredCount = 0
  /// The times that came in place of `occurred_at`, by the event's number.
  var clamped: [Int: Set<String>] = [:]

  mutating func add(_ oddity: Oddity) {
    oddityCount += 1
    if oddity.isAltered { alteredCount += 1 }
    if oddities.count < 100 { oddities.append(oddity) }
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
