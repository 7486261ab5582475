import Glibc
import JSON
import Synchronization
import Threads

/// Threads that post the run's events to the relay, as apps do: in batches of all sizes, some compressed, some slowly, and
/// again with the same ids when no answer came.
final class EventSenders: Sendable {
  /// How long a sender waits for an answer before it sends again.
  private static let patience: Duration = .seconds(10)

  struct Counts: Sendable, Equatable {
    var requests = 0
    /// Requests that had no answer, or none that says what became of the events: sent again.
    var unanswered = 0
    /// 503: the relay takes nothing now.
    var refused = 0
    /// What an answer says that it must not, a sentence each.
    var oddities: [String] = []
  }

  private let mint: EventMint
  private let book: DebtBook
  /// Where the relay is now; nil while it is nowhere.
  private let port = Mutex<UInt16?>(nil)
  private let isStopping = Atomic(false)
  private let running = Atomic(0)
  private let notes = Mutex(Counts())

  init(_ mint: EventMint, _ book: DebtBook) {
    self.mint = mint
    self.book = book
  }

  var counts: Counts { notes.withLock { $0 } }

  func send(toPort port: UInt16?) { self.port.withLock { $0 = port } }

  func start(_ count: Int) throws(TortureError) {
    for index in 0..<count {
      running.add(1, ordering: .relaxed)
      let code = DetachedThread.start(name: "sender-\(index)") { [self] in
        run(SeededGenerator(seed: mint.seed &+ UInt64(index) &* 7919))
        running.subtract(1, ordering: .relaxed)
      }
      if code != 0 { throw TortureError("no thread: \(String(cString: strerror(code)))") }
    }
  }

  /// Begins nothing more; false when a sender doesn't end.
  func stop() -> Bool {
    isStopping.store(true, ordering: .relaxed)
    return Pause.wait(within: Self.patience + .seconds(10)) { running.load(ordering: .relaxed) == 0 }
  }

  private func run(_ seeded: SeededGenerator) {
    var generator = seeded
    while !isStopping.load(ordering: .relaxed) {
      let size = [1, 2, 7, 40, 100].randomElement(using: &generator) ?? 1
      let numbers = book.mint(size)
      // Identify calls go by themselves; the others in one batch of their app's.
      let groups = Dictionary(grouping: numbers) { mint.kind($0) == .identify ? "identify \($0)" : mint.key($0) ?? "" }
      for (key, group) in groups.sorted(by: { $0.key < $1.key }) {
        let request = SenderRequest(mint, group, key: key, roll: generator.next())
        deliver(request)
      }
      Pause.sleep(.milliseconds(Int.random(in: 20...250, using: &generator)))
    }
  }

  /// Posts until an answer says what became of the events, or the run ends.
  private func deliver(_ request: SenderRequest) {
    while !isStopping.load(ordering: .relaxed) {
      guard let port = port.withLock({ $0 }) else {
        Pause.sleep(.milliseconds(20))
        continue
      }
      for number in request.numbers { book.change(number) { $0.sent &+= 1 } }
      notes.withLock { $0.requests += 1 }
      do throws(TortureError) {
        let answer = try RelayCall.send(
          "POST", request.path, toPort: port, headers: request.headers, body: request.body, slices: request.slices,
          within: Self.patience)
        if take(answer, of: request) { return }
        Pause.sleep(.milliseconds(100))
      } catch {
        notes.withLock { $0.unanswered += 1 }
        Pause.sleep(.milliseconds(30))
      }
    }
  }

  /// Notes what an answer says; false when the events are to be sent again.
  private func take(_ answer: RelayAnswer, of request: SenderRequest) -> Bool {
    switch answer.status {
    case 503:
      notes.withLock { $0.refused += 1 }
      return false
    case 204 where request.isIdentify:
      for number in request.numbers { book.change(number) { $0.accepted &+= 1 } }
      return true
    case 200 where !request.isIdentify:
      guard let json = answer.json, let rejected = Self.indices(json["rejected"]),
        let clamped = Self.indices(json["clamped"])
      else { break }
      for (index, number) in request.numbers.enumerated() {
        let isRejected = rejected.contains(index)
        if isRejected != (mint.kind(number) == .invalid) {
          note(
            "event \(mint.id(number)) \(isRejected ? "was rejected, and keeps the rules" : "was accepted, and breaks a rule")"
          )
        }
        book.change(number) { entry in
          if isRejected { entry.isRejected = true } else { entry.accepted &+= 1 }
          if clamped.contains(index) { entry.isClamped = true }
        }
      }
      return true
    default: break
    }
    note(
      "\(request.path) was answered with \(answer.status): \(String(decoding: answer.body.prefix(200), as: UTF8.self))")
    return true
  }

  private func note(_ text: String) {
    notes.withLock { if $0.oddities.count < 100 { $0.oddities.append(text) } }
  }

  private static func indices(_ list: JSONValue?) -> Set<Int>? {
    (list?.array).map { Set($0.compactMap { $0["index"]?.integer(as: Int.self) }) }
  }
}

/// One request of a sender, the same whenever it is sent again.
struct SenderRequest: Sendable {
  let numbers: [Int]
  let isIdentify: Bool
  let path: String
  let headers: [String]
  let body: [UInt8]
  let slices: Int

  /// - Parameter key: the write key that all of the events are of; empty: none.
  init(_ mint: EventMint, _ numbers: [Int], key: String, roll: UInt64) {
    self.numbers = numbers
    isIdentify = key.hasPrefix("identify ")
    path = isIdentify ? "/v1/identify" : "/v1/events"
    var headers = ["Content-Type: application/json", "Connection: close"]
    let key = isIdentify ? mint.key(numbers[0]) ?? "" : key
    if !key.isEmpty { headers.append("X-Write-Key: \(key)") }
    var body: [UInt8]
    if isIdentify {
      body = mint.bytes(numbers[0])
    } else {
      body = Array(#"{ "events":["#.utf8)
      for (index, number) in numbers.enumerated() {
        if index > 0 { body += roll % 2 == 0 ? [UInt8(ascii: ",")] : Array(" ,\n".utf8) }
        body += mint.bytes(number)
      }
      body += Array("]}".utf8)
    }
    if roll % 3 == 0, let small = Gzip.compressed(body) {
      body = small
      headers.append("Content-Encoding: gzip")
    }
    self.headers = headers
    self.body = body
    slices = roll % 11 == 0 ? 6 : 1
  }
}
