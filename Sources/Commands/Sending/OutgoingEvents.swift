import Clocks
import Dialects
import EventsAPI

/// Makes batches of a file's events.
///
/// Unchecked because one thread at a time uses it: the sender asks for the next batch when it has the last.
final class OutgoingEvents: @unchecked Sendable {
  struct Unsent: Sendable, Equatable {
    var index: Int
    var why: String
  }

  private enum Source {
    case lines(LineReader)
    case elements(ElementReader)
    /// A body that a server takes as it is, read by the judge.
    case body([UInt8])
    case event([UInt8])
  }

  private let input: InputFile
  private let source: Source
  private let clock: WallClock
  private let dialect: any Dialect
  private let judge: EventJudge
  /// Tells JSON from what is none.
  private let lines = EventJSON()
  private var nextIndex = 0
  /// An event that had no place in the last batch.
  private var kept: OutgoingBatch.Event?
  private var isAtEnd = false
  /// Those that can't be sent, since the last time they were taken.
  private var unsent: [Unsent] = []

  private var eventsMax: Int {
    dialect.outgoing.habits.keepsRequestsApart ? 1 : dialect.outgoing.defaults.maxBatchEvents
  }
  private var bytesMax: Int { dialect.outgoing.defaults.maxBatchBytes }

  init(_ operand: String, _ dialect: any Dialect, _ context: CommandContext) throws(CommandFailure) {
    input = try InputFile(operand, standardInput: context.standardInput)
    self.dialect = dialect
    clock = context.clock
    judge = EventJudge(dialect)
    let bodyMax = dialect.incoming.batchRoute.bodyBytesMax
    let head = try input.head(bodyMax)
    switch InputShape(head: head.bytes) {
    case .lines: source = .lines(LineReader(input))
    case .event where !head.isAll: source = .lines(LineReader(input))
    case .event: source = .event(head.bytes)
    case .array:
      throw CommandFailure("\(input.name) is a list; it should be {\"events\":[...]} or one event a line", code: .usage)
    case .batch where head.isAll && judge.refusal(ofBody: head.bytes, at: clock.now) == nil:
      source = .body(head.bytes)
    case .batch: source = .elements(ElementReader(input))
    }
  }

  var name: String { input.name }
  var share: Double? { input.share }

  /// The next batch, and what couldn't be sent on the way to it; no batch at the end.
  func next() throws(CommandFailure) -> (batch: OutgoingBatch?, unsent: [Unsent]) {
    defer { unsent = [] }
    if case .body(let body) = source {
      guard !isAtEnd else { return (nil, []) }
      isAtEnd = true
      return (whole(body), unsent)
    }
    var batch = OutgoingBatch()
    var bytes = dialect.outgoing.frameBytes
    while batch.events.count < eventsMax, let event = try nextEvent() {
      let more = event.bytes.count + (batch.events.isEmpty ? 0 : 1)
      guard batch.events.isEmpty || bytes + more <= bytesMax else {
        kept = event
        break
      }
      bytes += more
      batch.events.append(event)
      // A file of nothing but bad lines doesn't pile them up.
      if unsent.count >= 1000 { break }
    }
    return (batch.events.isEmpty && isAtEnd && kept == nil ? nil : batch, unsent)
  }

  /// A body by itself: as it is where its key is in a header, else its events with what came around them, since the key in it
  /// may be another one.
  private func whole(_ body: [UInt8]) -> OutgoingBatch {
    var batch = OutgoingBatch()
    guard dialect.hasKeyInHead else {
      batch.events = judge.accepted().enumerated().map { .init(place: $0, bytes: $1.bytes, known: $1.event) }
      batch.envelope = Array(judge.reader.envelope)
      return batch
    }
    let count = judge.reader.accepted.count + judge.reader.rejectedCodes.count
    batch.events = (0..<count).map { .init(place: $0, bytes: []) }
    batch.whole = body
    return batch
  }

  private func nextEvent() throws(CommandFailure) -> OutgoingBatch.Event? {
    if let kept {
      self.kept = nil
      return kept
    }
    while !isAtEnd {
      guard let read = try readEvent() else {
        isAtEnd = true
        return nil
      }
      let index = nextIndex
      nextIndex += 1
      var event = OutgoingBatch.Event(place: index, bytes: read.bytes)
      if let why = whyUnsent(&event) {
        unsent.append(Unsent(index: index, why: "\(read.place) \(why); not sent"))
        // What was read so far is sent before more of a bad file is looked at.
        if unsent.count >= 1000 { return nil }
        continue
      }
      return event
    }
    return nil
  }

  private func readEvent() throws(CommandFailure) -> (place: String, bytes: [UInt8])? {
    switch source {
    case .lines(let lines):
      return try lines.next().map { ("line \($0.number)", $0.bytes.map { Array($0) } ?? []) }
    case .elements(let elements):
      return try elements.next().map { ("event \(nextIndex)", $0) }
    case .event(let bytes):
      guard nextIndex == 0 else { return nil }
      guard isJSON(bytes) == nil else {
        throw CommandFailure("\(input.name) is not JSON, or more than one event on several lines each")
      }
      return ("event 0", bytes)
    case .body: return nil
    }
  }

  /// Nil when an event can be sent. One bad line would have a server refuse a hundred events: it must be JSON, and where a
  /// server judges requests as a whole, it must keep the rules too.
  private func whyUnsent(_ event: inout OutgoingBatch.Event) -> String? {
    guard !event.bytes.isEmpty, event.bytes.count + dialect.outgoing.frameBytes <= bytesMax else {
      return "is over \(bytesMax) bytes"
    }
    if let refusal = isJSON(event.bytes) { return Self.words(refusal) }
    if dialect.incoming.judgesEventsApart { return nil }
    if let refusal = event.bytes.withUnsafeBytes({ judge.refusal(ofEvent: $0, at: clock.now) }) {
      return "breaks \(dialect.title)'s rules: " + Self.words(refusal)
    }
    guard let found = judge.accepted().first else { return "is taken by no server" }
    // (What only came around the event isn't the event's: a key, say.)
    (event.known, event.bytes) = (found.event, found.bytes)
    return nil
  }

  private func isJSON(_ bytes: [UInt8]) -> APIError? {
    bytes.withUnsafeBytes { lines.refusal(ofEvent: $0, at: clock.now) }
  }

  private static func words(_ refusal: APIError) -> String {
    let words = refusal.message
    let subject = ["The body ", "The event "].first { words.hasPrefix($0) }
    let what = String(words.dropFirst(subject?.count ?? 0))
    return what.hasSuffix(".") ? String(what.dropLast()) : what
  }
}

extension Dialect {
  /// The key of a batch stands in its head, and the body is the same whose ever it is.
  fileprivate var hasKeyInHead: Bool {
    let route = incoming.batchRoute
    if case .head = incoming.keyClaim(of: UnsentRequest(path: route.path), route) { return true }
    return false
  }
}
