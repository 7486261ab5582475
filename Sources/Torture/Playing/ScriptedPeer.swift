import Synchronization

/// Whom the relay of a run sends to: notes every event that it took, and misbehaves by a script.
final class ScriptedPeer<Part: PeerPart>: Sendable {
  let script: PeerScript
  private let part: Part
  private let notes: PeerNotes
  private let server = Mutex<WireServer?>(nil)

  init(_ part: Part, _ mint: EventMint, _ book: DebtBook, _ script: PeerScript) {
    self.part = part
    self.script = script
    notes = PeerNotes(mint, book)
  }

  /// - Returns: the port it listens on.
  func start() throws(TortureError) -> UInt16 {
    let started = try WireServer(name: Part.name) { [weak self] request, wire in
      guard let self else { return false }
      return self.part.answer(request, over: wire, script.next(), notes)
    }
    server.withLock { $0 = started }
    return started.port
  }

  func stop() { server.withLock { $0?.stop() } }

  var arrivals: ArrivalNotes { notes.arrivals }
}

/// What a peer is to the relay: how it reads requests and what a right answer is.
protocol PeerPart: Sendable {
  /// What the peer is called in errors.
  static var name: String { get }

  /// Notes what a request brought, and answers.
  ///
  /// - Parameter turn: how to answer, and whether what the request brought counts as taken.
  /// - Returns: false when the connection is to be closed.
  func answer(
    _ request: WireServer.Request, over wire: Wire, _ turn: (reply: PeerScript.Reply, stores: Bool), _ notes: PeerNotes
  ) -> Bool
}

/// What came to a peer, event by event and in oddities.
final class PeerNotes: Sendable {
  let mint: EventMint
  private let book: DebtBook
  private let notes = Mutex(ArrivalNotes())

  init(_ mint: EventMint, _ book: DebtBook) {
    self.mint = mint
    self.book = book
  }

  var arrivals: ArrivalNotes { notes.withLock { $0 } }

  func took(_ number: Int, _ change: (inout DebtEntry) -> Void) { book.change(number, change) }

  func add(_ oddity: ArrivalNotes.Oddity) { notes.withLock { $0.add(oddity) } }

  /// An event came with another time.
  func clamped(_ number: Int, to time: String) { notes.withLock { _ = $0.clamped[number, default: []].insert(time) } }
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
