import EventLog

/// Gathers events and puts them into a queue, a chunk at a time and no faster than a rate.
///
/// Not thread-safe; lives on its job's thread.
final class ReplaySender {
  /// Between two looks whether the queue has room.
  private static let patience: Duration = .milliseconds(50)

  let queue: ReplayQueue
  private let settling: ReplaySettling
  private let sendAs: String?
  private var pace: ReplayPace
  private let chunk = ReplayChunk()
  private var places = ReplayPlaces()

  init(queue: ReplayQueue, settling: ReplaySettling, request: ReplayRequest) {
    self.queue = queue
    self.settling = settling
    sendAs = request.sendAs
    pace = ReplayPace(rate: request.rate, from: .now)
  }

  var isEmpty: Bool { chunk.isEmpty }
  private var isFull: Bool { chunk.isFull || chunk.count >= pace.portion(max: ReplayChunk.eventsMax) }

  /// Whether what is gathered is to be put in before this one joins. A request that came with something around it isn't cut:
  /// it goes out as it came.
  func isFull(before candidate: ReplayCandidate) -> Bool {
    isFull && !chunk.continues(candidate.event, app: sendAs ?? candidate.app, envelope: candidate.envelope)
  }

  func add(_ candidate: ReplayCandidate) {
    chunk.add(
      candidate.event, app: sendAs ?? candidate.app, bytes: candidate.bytes, envelope: candidate.envelope)
    places.add(candidate.place, candidate.reason)
  }

  func clear() {
    chunk.removeAll()
    places = ReplayPlaces()
  }

  /// With so many events waiting in the queue nothing more is put there.
  func waitingMax(_ max: Int) -> Int { pace.waiting(max: max) }

  /// How long to wait before what is gathered may be put in; nil: it may be now.
  func delay(hasRoom: Bool) -> Duration? { hasRoom ? pace.delay(at: .now) : Self.patience }

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
    pace.sent(stored, at: .now)
    clear()
    return stored == count
  }
}
