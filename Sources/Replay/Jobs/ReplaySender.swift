import EventLog

/// Gathers events and puts them into a queue, a chunk at a time and no faster than a rate.
///
/// Not thread-safe; lives on its job's thread.
final class ReplaySender {
  /// Between two looks whether the queue has room.
  private static let patience: Duration = .milliseconds(50)
  /// Portions a second when a rate is kept.
  private static let portionsPerSecond = 5

  let queue: ReplayQueue
  private let settling: ReplaySettling
  private let sendAs: String?
  private let rate: Int?
  private let chunkMax: Int
  private let chunk = ReplayChunk()
  private var places = ReplayPlaces()
  private let began = ContinuousClock.now
  /// Events put in since then.
  private var sent = 0

  init(queue: ReplayQueue, settling: ReplaySettling, request: ReplayRequest) {
    self.queue = queue
    self.settling = settling
    sendAs = request.sendAs
    rate = request.rate
    chunkMax = min(
      ReplayChunk.eventsMax, request.rate.map { max(1, $0 / Self.portionsPerSecond) } ?? ReplayChunk.eventsMax)
  }

  var isEmpty: Bool { chunk.isEmpty }
  var isFull: Bool { chunk.isFull || chunk.count >= chunkMax }

  func add(_ candidate: ReplayCandidate) {
    chunk.add(candidate.event, app: sendAs ?? candidate.app, bytes: candidate.bytes)
    places.add(candidate.place, candidate.reason)
  }

  func clear() {
    chunk.removeAll()
    places = ReplayPlaces()
  }

  /// How long to wait before what is gathered may be put in; nil: it may be now.
  func delay(hasRoom: Bool) -> Duration? {
    if !hasRoom { return Self.patience }
    guard let rate else { return nil }
    return Self.delay(sent: sent, rate: rate, elapsed: .now - began)
  }

  /// What a rate calls for: never more events by a moment than the rate allows until then.
  static func delay(sent: Int, rate: Int, elapsed: Duration) -> Duration? {
    let due = Duration.milliseconds(Int64(sent) * 1000 / Int64(max(rate, 1)))
    return due > elapsed ? due - elapsed : nil
  }

  /// Puts what is gathered in; false when not all of it went in.
  func flush(_ record: inout ReplayRecord) throws(ReplayError) -> Bool {
    guard !chunk.isEmpty else { return true }
    let note = record.note(places)
    let count = chunk.count
    let stored: Int
    do throws(LogError) {
      stored = try queue.put(chunk, note: note).stored
    } catch {
      throw ReplayError(.failed, error.description)
    }
    guard let put = ReplayPut(note, stored: stored) else { throw ReplayError(.failed, "a note can't be read back") }
    var kept = Optional(record)
    try settling.settle(put, &kept)
    record = kept ?? record
    sent += stored
    clear()
    return stored == count
  }
}
