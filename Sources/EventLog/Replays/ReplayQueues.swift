import Clocks
import Glibc
import JSON
import Observability
import Synchronization

/// The queues of events that are sent again, one for each destination that ever had any: `data_dir/replays/DESTINATION`.
final class ReplayQueues: Sendable {
  /// Segments of a queue that stay open for the next read.
  private static let openFilesMax = 2

  let directory: String
  private let disk: any Disk
  private let minFreeDisk: Mutex<Int>
  private let clock: WallClock
  private let logger: Logger
  private let isInline: Bool
  private let subscriptions = Mutex<[String: ReplayableSubscription]>([:])

  init(
    directory: String, disk: any Disk, minFreeDisk: Int, clock: WallClock, logger: Logger, isInline: Bool
  ) {
    self.directory = directory
    self.disk = disk
    self.minFreeDisk = Mutex(minFreeDisk)
    self.clock = clock
    self.logger = logger
    self.isInline = isInline
  }

  /// A destination's subscription with its queue, which is opened when there is one.
  func subscription(_ main: FileSubscription) throws(LogError) -> ReplayableSubscription {
    // One that was taken back has its queue open still.
    if let known = subscriptions.withLock({ $0[main.destination] }), known.isView(of: main) { return known }
    let subscription = ReplayableSubscription(main)
    let record = main.monitor.withLock { main.committed.replays }
    if record != nil || access("\(directory)/\(main.destination)/log", F_OK) == 0 {
      subscription.attach(try open(main.destination, record))
    }
    subscriptions.withLock { $0[main.destination] = subscription }
    return subscription
  }

  /// A destination's queue, made when there is none.
  ///
  /// - Throws: ``LogError`` when nobody subscribes as this destination, or the queue can't be opened.
  func queue(of destination: String) throws(LogError) -> ReplayQueue {
    try subscriptions.withLock { (subscriptions) throws(LogError) in
      guard let subscription = subscriptions[destination] else {
        throw LogError("there is no destination \(destination)")
      }
      if let queue = subscription.queue { return queue }
      let queue = try open(destination, nil)
      subscription.attach(queue)
      return queue
    }
  }

  /// The queues that are open.
  var open: [ReplayQueue] { subscriptions.withLock { $0.values.compactMap(\.queue) } }

  /// - Parameter record: the queue's record as the destination has it; it is never older than the queue's own.
  private func open(_ destination: String, _ record: JSONValue?) throws(LogError) -> ReplayQueue {
    let home = "\(directory)/\(destination)"
    let positions = "\(home)/positions"
    try asLogError { () throws(DiskError) in
      try disk.makeDirectory(home)
      try disk.makeDirectory(positions)
      // (As with the log: its journal may have its name from a process that was killed.)
      try disk.syncDirectory(home)
    }
    if let record {
      guard let record = PositionRecord(record, destination: ReplayQueue.recordName) else {
        throw LogError("the record of destination \(destination) has a part about replays that can't be read")
      }
      let store = PositionStore(directory: positions, disk: disk, logger: logger)
      try asLogError { () throws(DiskError) in try store.write(record) }
    }
    let journal = try ReplayJournal.read(home, disk, logger)
    var tuning = FileLogTuning()
    tuning.isInline = isInline
    // A put that never ended may have left one frame broken and a later one whole: none of it counts then, from the broken one on.
    tuning.unsettledFrom = journal.intent?.next
    tuning.holdsReplays = true
    tuning.stagingSize = 2 << 20
    tuning.sparesMax = 1
    let log = try FileLog.open(
      directory: "\(home)/log", positions: positions,
      configuration: FileLogConfiguration(
        segmentSize: ReplayQueue.segmentSize, maxSize: 1 << 40, minFreeDisk: minFreeDisk.withLock { $0 }),
      disk: disk, clock: clock, logger: logger, metrics: MetricsRegistry(), tuning: tuning)
    log.setOpenFilesMax(Self.openFilesMax)
    return ReplayQueue(
      destination: destination, directory: home, log: log,
      subscription: try log.fileSubscription(ReplayQueue.recordName, origin: .oldest),
      journal: journal, disk: disk)
  }

  func setMinFreeDisk(_ bytes: Int) {
    minFreeDisk.withLock { $0 = bytes }
    for queue in open { queue.log.freeSpace.setMinimum(bytes) }
  }

  func close() {
    for queue in open { queue.log.close() }
  }
}

extension FileLog {
  /// The queue of events that are sent to a destination again, made when there is none.
  ///
  /// - Throws: ``LogError`` when nobody subscribes as this destination, or the queue can't be opened.
  public func replayQueue(of destination: String) throws(LogError) -> ReplayQueue {
    guard let replays else { throw LogError("this log was opened without a place for replays") }
    return try replays.queue(of: destination)
  }

  /// The queues there are.
  public var replayQueues: [ReplayQueue] { replays?.open ?? [] }
}
