import Clocks
import Dispatch
import JSON
import Observability
import Synchronization

/// Events that are to be sent to one destination again: a small log of its own, beside the one new events go to.
///
/// One thread at a time puts events in; see ``put(_:note:)`` for how each gets there once. The destination reads them in
/// lanes of their own (``Lane/replayed(_:)``, ``Lane/allReplayed``).
public final class ReplayQueue: Sendable {
  /// What the queue's one subscription is called in its records.
  static let recordName = "queue"
  static let segmentSize = 4 << 20

  /// What has been put in by one call.
  public struct Put: Sendable, Equatable {
    /// So many of the chunk's events are in, the first ones.
    public var stored: Int
    /// Why not all of them are.
    public var refusal: AppendRefusal?
  }

  /// A put that a crash interrupted.
  public struct Unsettled: Sendable, Equatable {
    public var note: JSONValue
    /// So many of its events are in, the first ones.
    public var stored: Int
  }

  public let destination: String
  /// Where everything about the destination's replays lies.
  public let directory: String
  let log: FileLog
  let subscription: FileSubscription
  let disk: any Disk
  /// Held while it is written.
  private let journal: Mutex<ReplayJournal>
  /// Dead letters that were put back, for whoever mustn't wait for the disk.
  private let counts: Mutex<Tally>

  init(
    destination: String, directory: String, log: FileLog, subscription: FileSubscription, journal: ReplayJournal,
    disk: any Disk
  ) {
    self.destination = destination
    self.directory = directory
    self.log = log
    self.subscription = subscription
    self.journal = Mutex(journal)
    counts = Mutex(journal.putBack)
    self.disk = disk
  }

  /// Events that wait in the queue.
  public var waiting: Int { Int(clamping: subscription.ledger.waiting) }
  /// Bytes of the queue's files.
  public var sizeBytes: Int { log.statistics.sizeBytes }
  public var health: LogHealth { log.health }
  var putBack: Tally { counts.withLock { $0 } }

  /// What a crash left to be settled; call ``settle(putBack:)`` when it is. Nil when all is.
  public var unsettled: Unsettled? {
    journal.withLock { journal in
      journal.intent.map { Unsettled(note: $0.note, stored: $0.stored(next: log.statistics.nextSequence)) }
    }
  }

  /// Puts a chunk's events in: all of them or, when there is no room, the first.
  ///
  /// The caller makes note of those that are in, durably, and then calls ``settle(putBack:)``. Should the process end in
  /// between, ``unsettled`` tells at the next start how many they were. Waits for the disk.
  ///
  /// - Parameter note: what the caller needs then.
  /// - Throws: ``LogError`` when nothing was put in, or it can't be known before the next start how much was.
  public func put(_ chunk: ReplayChunk, note: JSONValue) throws(LogError) -> Put {
    try journal.withLock { (journal) throws(LogError) in
      guard journal.intent == nil else {
        throw LogError(
          "events were put into the queue before the last ones were settled: this is a fault of the program")
      }
      var next = journal
      next.intent = ReplayJournal.Intent(next: log.statistics.nextSequence, count: chunk.count, note: note)
      try next.write(directory, disk)
      journal = next
    }
    let outcome = append(chunk)
    guard outcome.refusal != .failed else {
      throw LogError(
        "the queue of events that are sent again can't be written: see to the disk, then start the relay again")
    }
    return outcome
  }

  /// Says that what was put in last is noted.
  ///
  /// - Parameter putBack: how many of the events in the queue were dead letters, by what they had been given up for.
  public func settle(putBack: Tally) throws(LogError) {
    try journal.withLock { (journal) throws(LogError) in
      var next = journal
      next.intent = nil
      next.putBack.add(putBack)
      try next.write(directory, disk)
      journal = next
      counts.withLock { $0 = next.putBack }
    }
  }

  private struct Progress {
    var stored = 0
    var refusal: AppendRefusal?
  }

  private func append(_ chunk: ReplayChunk) -> Put {
    let progress = Mutex(Progress())
    let settled = DispatchGroup()
    chunk.forEachDraft { draft, frame in
      // What follows a frame that isn't in must not be in either.
      guard progress.withLock({ $0.refusal == nil }) else { return false }
      settled.enter()
      log.append(draft) { outcome in
        progress.withLock { progress in
          switch outcome {
          case .stored: progress.stored += frame.events.count
          case .refused(let refusal): progress.refusal = progress.refusal ?? refusal
          }
        }
        settled.leave()
      }
      return true
    }
    log.syncInline()
    settled.wait()
    return progress.withLock { Put(stored: $0.stored, refusal: $0.refusal) }
  }
}
