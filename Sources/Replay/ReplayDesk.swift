import Archive
import Clocks
import DeadLetters
import EventLog
import JSON
import Observability
import Records
import Synchronization
import Threads

/// Where replays are asked for, looked at and stopped. One at a time for each destination.
public final class ReplayDesk: Sendable {
  public static let upstreamName = "upstream"

  /// What replays have around them.
  public struct Room: Sendable {
    let log: FileLog
    let deadLetters: DeadLetterStore
    /// The instance's id.
    let relay: String
    private let types: @Sendable () -> [String: String]
    /// The types of the destinations there are at this moment, by name.
    var destinations: [String: String] { types() }
    /// Nothing is put in while much waits: not where nobody sends, since no relay runs.
    let waitsForRoom: Bool
    let files: ReplayFiles
    /// The number of the protocol that an app's upstream is spoken to by, from the app's name; nil for an app that isn't known.
    let speaks: @Sendable (_ app: String) -> UInt8?
    /// Leaves a line in the audit trail; when it throws, nothing is done.
    let audit: @Sendable (_ action: String, _ actor: String, _ details: JSONValue) throws -> Void
    let clock: WallClock
    let logger: Logger

    /// - Parameter directory: `data_dir/replays`.
    public init(
      log: FileLog, deadLetters: DeadLetterStore, relay: String, directory: String,
      destinations: @escaping @autoclosure @Sendable () -> [String: String],
      waitsForRoom: Bool = true, speaks: @escaping @Sendable (_ app: String) -> UInt8?, clock: WallClock = .system,
      logger: Logger,
      audit: @escaping @Sendable (_ action: String, _ actor: String, _ details: JSONValue) throws -> Void
    ) {
      self.log = log
      self.deadLetters = deadLetters
      self.relay = relay
      types = destinations
      self.waitsForRoom = waitsForRoom
      self.speaks = speaks
      self.audit = audit
      self.clock = clock
      self.logger = logger
      files = ReplayFiles(directory: directory, system: .system)
    }

    func settling(_ queue: ReplayQueue) -> ReplaySettling {
      ReplaySettling(queue: queue, files: files, deadLetters: deadLetters)
    }

    func source(of record: ReplayRecord) throws(ReplayError) -> any ReplaySource {
      switch record.request.source {
      case .log: LogSource(log: log, record: record)
      case .archive(let directory): try ArchiveSource(directory, record: record, relay: relay)
      case .deadLetters:
        LetterSource(
          reader: DeadLetterReader(directory: deadLetters.directory), record: record,
          committed: committedLetters(of: record.request.destination))
      }
    }

    /// How far a destination's file of dead letters belongs to its position.
    func committedLetters(of destination: String) -> FileMark? {
      log.attachment(of: destination)?["dead_letters"].flatMap { FileMark($0) }
    }
  }

  let room: Room
  private struct State {
    var jobs: [String: ReplayJob] = [:]
    var isClosed = false
  }
  private let state = Mutex(State())

  /// Settles what a crash left of a replay. What can't be settled is told to whoever asks for another.
  public init(_ room: Room) {
    self.room = room
    for queue in room.log.replayQueues {
      do throws(ReplayError) {
        try room.settling(queue).recover()
      } catch {
        room.logger.error(
          "a replay that a crash interrupted can't be settled", about: queue.destination,
          ["why": .text(error.description)])
      }
    }
  }

  /// Starts a replay, or goes on with one that was asked for before and isn't done. One that is under way is only shown.
  ///
  /// - Parameters:
  ///   - isDryRun: only counts the events that are meant.
  ///   - actor: who asks, for the audit trail.
  public func start(_ request: ReplayRequest, isDryRun: Bool = false, by actor: String) throws(ReplayError)
    -> ReplayStatus
  {
    try check(request)
    let id = isDryRun ? "dry-\(request.id)" : request.id
    return try state.withLock { (state) throws(ReplayError) in
      guard !state.isClosed else { throw ReplayError(.conflict, "the relay is stopping") }
      if let job = state.jobs[id], !job.isEnded { return job.status }
      if !isDryRun, let other = state.jobs.values.first(where: { Self.isBusy($0, with: request.destination) }) {
        throw ReplayError(
          .conflict,
          "another replay to \(request.destination) is under way, \(other.id): wait for its end, or stop it first")
      }
      let job = try make(request, id, isDryRun: isDryRun, by: actor)
      try job.start()
      state.jobs[id] = job
      Self.tidy(&state)
      return job.status
    }
  }

  private static func isBusy(_ job: ReplayJob, with destination: String) -> Bool {
    !job.isDryRun && !job.isEnded && job.status.destination == destination
  }

  private static func tidy(_ state: inout State) {
    guard state.jobs.count > 200 else { return }
    state.jobs = state.jobs.filter { !$0.value.isEnded }
  }

  private func make(
    _ request: ReplayRequest, _ id: String, isDryRun: Bool, by actor: String
  ) throws(ReplayError) -> ReplayJob {
    var record = ReplayRecord(
      request, begun: room.clock.now, logEnd: room.log.statistics.nextSequence, owed: owed(request))
    // What can't be read is found now rather than by whoever asks how it goes.
    _ = try room.source(of: record)
    if isDryRun { return ReplayJob(record, id: id, queue: nil, desk: room) }
    let queue: ReplayQueue
    do throws(LogError) {
      queue = try room.log.replayQueue(of: request.destination)
    } catch {
      throw ReplayError(.failed, error.description)
    }
    try room.settling(queue).recover()
    if let known = try room.files.read(id, of: request.destination), known.state != .done {
      record = known
      record.resume(request)
    }
    do {
      try room.audit(
        request.source == .deadLetters ? "dead-letters replay" : "replay", actor,
        .object([.init("id", .string(id))] + (request.json.members ?? [])))
    } catch {
      throw ReplayError(.failed, "\(error)")
    }
    room.files.tidy(request.destination)
    try room.files.write(record)
    return ReplayJob(record, id: id, queue: queue, desk: room)
  }

  private func owed(_ request: ReplayRequest) -> OwedEvents? {
    request.source == .deadLetters ? nil : room.log.owed(by: request.destination)
  }

  private func check(_ request: ReplayRequest) throws(ReplayError) {
    guard let type = room.destinations[request.destination] else {
      let names = room.destinations.keys.sorted().joined(separator: ", ")
      throw ReplayError(.notFound, "there is no destination \(request.destination); there are \(names)")
    }
    guard type != "archive" else {
      throw ReplayError(
        .invalid,
        "\(request.destination) is an archive: each event is in it once, in order, so nothing can be sent there again")
    }
    if let since = request.since, let until = request.until, since >= until {
      throw ReplayError(.invalid, "since is not before until: nothing is between them")
    }
    if let rate = request.rate, !(1...ReplayRequest.rateMax).contains(rate) {
      throw ReplayError(.invalid, "the rate must be from 1 to \(ReplayRequest.rateMax) events a second")
    }
  }

  // MARK: Looking and stopping

  public var statuses: [ReplayStatus] {
    state.withLock { $0.jobs.values.map(\.status) }.sorted { $0.id < $1.id }
  }

  /// - Throws: `notFound` for one that wasn't asked for since the start.
  public func status(_ id: String) throws(ReplayError) -> ReplayStatus { try job(id).status }

  /// Has a replay end soon; what is in the queue is sent all the same. Asked for again, it goes on.
  public func stop(_ id: String) throws(ReplayError) -> ReplayStatus {
    let job = try job(id)
    job.stop()
    job.waitForEnd()
    return job.status
  }

  private func job(_ id: String) throws(ReplayError) -> ReplayJob {
    guard let job = state.withLock({ $0.jobs[id] }) else {
      throw ReplayError(.notFound, "there is no replay \(id.prefix(40)) since this relay's start")
    }
    return job
  }

  /// Waits a moment, or until a replay that is under way has ended.
  public func waitForChange() {
    let job = state.withLock { $0.jobs.values.first { !$0.isEnded } }
    job?.waitForEnd(atMost: Self.changeInterval)
  }

  private static let changeInterval: Duration = .milliseconds(100)

  /// Stops all replays, and takes no others. Waits for their end, on a thread that may.
  func close() {
    let jobs = state.withLock { state in
      state.isClosed = true
      return Array(state.jobs.values)
    }
    for job in jobs { job.stop() }
    for job in jobs { job.waitForEnd() }
  }

  /// Stops all replays, and takes no others.
  public func stop() async {
    await withCheckedContinuation { continuation in
      let code = DetachedThread.start(name: "replays-stop") {
        self.close()
        continuation.resume()
      }
      if code != 0 { continuation.resume() }
    }
  }
}
