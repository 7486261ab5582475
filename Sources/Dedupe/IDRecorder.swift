import Clocks
import EventLog
import Observability

/// Follows the log as a destination does, and writes down which ids it stored.
///
/// Its position is committed after the journal is synced, and holds the log's segments until then: so the journal and the
/// log from that position on hold every id there is, whatever ends the process. Not thread-safe; blocks on the disk.
final class IDRecorder {
  static let readLimit = ReadLimit(events: 2000, bytes: 512 * 1024)
  /// Events that are recorded with one sync.
  static let roundEvents = 50_000

  private let subscription: any Subscription
  private let journal: SharedJournal
  private let deduplication: Deduplication
  private let clock: WallClock
  private let logger: Logger
  /// Bytes of the log that may be held while the journal can't be written.
  private let behindMax: Int

  private let batch = EventBatch()
  /// Read, and not acknowledged yet.
  private var ranges: [(range: ClosedRange<UInt64>, events: Int)] = []
  private var records: [IDRecord] = []
  private var isFailing = false
  /// What was read must be read again.
  private var needsRewind = false

  init(
    subscription: any Subscription, journal: SharedJournal, deduplication: Deduplication, behindMax: Int,
    clock: WallClock,
    logger: Logger
  ) {
    self.subscription = subscription
    self.journal = journal
    self.deduplication = deduplication
    self.behindMax = behindMax
    self.clock = clock
    self.logger = logger
  }

  /// Hands out what is in the log and not recorded yet, and leaves it there.
  func replay(_ take: (IDRecord) -> Void) throws(LogError) {
    while try readRound() {
      for record in records { take(record) }
      records.removeAll(keepingCapacity: true)
      ranges.removeAll(keepingCapacity: true)
    }
    subscription.rewind(.all)
  }

  /// Records all that is in the log and isn't recorded yet.
  ///
  /// - Returns: false when something failed: it is to be tried again later.
  func catchUp() -> Bool {
    if needsRewind { subscription.rewind(.all) }
    needsRewind = true
    do {
      while try readRound() { try settle() }
      needsRewind = false
      if isFailing { logger.info("event ids are recorded again") }
      isFailing = false
      return true
    } catch {
      let why = (error as? DiskError)?.description ?? (error as? LogError)?.description ?? "\(error)"
      if !isFailing {
        logger.warning(
          "event ids can't be recorded: duplicates are found all the same, and the log keeps what isn't recorded",
          ["why": .text(why)])
      }
      isFailing = true
      ranges = []
      records = []
      letGo()
      return false
    }
  }

  /// Reads on; false when there was nothing.
  private func readRound() throws(LogError) -> Bool {
    var events = 0
    let oldest = clock.now - .milliseconds(deduplication.window)
    while events < Self.roundEvents, try subscription.read(.all, limit: Self.readLimit, into: batch) {
      guard let first = batch.events.first, let last = batch.events.last else { continue }
      events += batch.events.count
      ranges.append((first.sequence...last.sequence, batch.events.count))
      let apps = batch.apps.map(EventKey.hash(ofApp:))
      for event in batch.events where event.kind == .event && event.receivedAt > oldest {
        records.append(
          IDRecord(
            .stored, EventKey(app: apps[event.appIndex], idHigh: event.index.idHigh, idLow: event.index.idLow),
            sequence: event.sequence, body: BodyPrint.of(batch.bytes(of: event)), at: event.receivedAt))
      }
    }
    return events > 0
  }

  /// Makes what was read durable, then lets the log have its segments back.
  private func settle() throws {
    try journal.write(records)
    records.removeAll(keepingCapacity: true)
    acknowledge()
    try subscription.commit(attachment: nil)
  }

  private func acknowledge() {
    for (range, events) in ranges { subscription.acknowledge(.all, range, Tally(.delivered, events)) }
    ranges.removeAll(keepingCapacity: true)
  }

  /// The journal can't be written: the log must not fill up for its sake.
  private func letGo() {
    guard subscription.behindBytes(.all) > behindMax else { return }
    subscription.rewind(.all)
    do {
      while try readRound() {
        records.removeAll(keepingCapacity: true)
        acknowledge()
        try subscription.commit(attachment: nil)
      }
      logger.warning("the log is let go on without the last event ids recorded: a restart would forget them")
    } catch {
      ranges = []
    }
  }
}
