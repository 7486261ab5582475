import CCrypto
import Clocks
import EventsAPI
import JSON
import Observability
import Synchronization

/// The stand-in without its HTTP: takes bodies, gives answers, keeps what was stored.
final class StandInCore: Sendable {
  /// An answer of the API.
  struct Answer: Sendable, Equatable {
    var status: Int
    var body: [UInt8] = []
    var retryAfter: Int?

    init(status: Int, body: [UInt8] = [], retryAfter: Int? = nil) {
      self.status = status
      self.body = body
      self.retryAfter = retryAfter
    }

    init(_ error: APIError, retryAfter: Int? = nil) {
      self.init(status: error.status, body: error.body, retryAfter: retryAfter)
    }
  }

  /// Unchecked because of the journal and the reader, which nobody has but the state, and it only under the lock.
  struct State: @unchecked Sendable {
    var account: Account
    var statistics = StandInStatistics()
    var journal: any Journal
    let reader = EventsReader()
    var failure: ForcedFailure?
    var appsByKey: [String: Int] = [:]
    var lines: [UInt8] = []
  }

  let configuration: StandInConfiguration
  let logger: Logger
  let state: Mutex<State>

  /// Opens what an earlier life stored. Reads files; called before the server starts.
  init(_ configuration: StandInConfiguration, logger: Logger) throws(StandInError) {
    self.configuration = configuration
    self.logger = logger
    var account = Account(configuration)
    let journal: any Journal
    if let directory = configuration.dataDirectory {
      let file = try FileJournal(directory: directory, bytesMax: configuration.fileBytesMax)
      let recall = Recall(clock: configuration.clock)
      try file.load(logger: logger) { line in recall.take(line, into: &account) }
      if recall.unreadable > 0 {
        logger.warning(
          "lines of the stand-in's file are none that it wrote; they are listed, and count for nothing else",
          about: directory, ["lines": .integer(recall.unreadable)])
      }
      journal = file
    } else {
      journal = MemoryJournal(bytesMax: configuration.memoryBytesMax)
    }
    state = Mutex(State(account: account, journal: journal, failure: configuration.failure))
  }

  /// Whether the next request fails by order; one less then.
  func takeForcedFailure() -> Answer? {
    state.withLock { state in
      guard state.failure?.takes() == true, let status = state.failure?.status else { return nil }
      state.statistics.forcedFailures += 1
      return Answer(Self.forced(status), retryAfter: status == 429 || status >= 500 ? configuration.retryAfter : nil)
    }
  }

  var isFailureArmed: Bool { state.withLock { ($0.failure?.count ?? 1) > 0 && $0.failure != nil } }

  private static func forced(_ status: Int) -> APIError {
    let message = "This stand-in was told to fail."
    return switch status {
    case 400: .invalidBody(message)
    case 401: .invalidWriteKey(message)
    case 403: .quotaExceeded(message)
    case 404: .notFound(message)
    case 405: .methodNotAllowed(message)
    case 413: .payloadTooLarge
    case 415: .unsupportedMediaType(message)
    case 429: .rateLimited(message)
    case 500...: .serverError(message, status: status)
    default: APIError(status: status, code: "error", message: message)
    }
  }

  func count(_ status: Int, _ route: APIRoute) { state.withLock { $0.statistics.count(status, route) } }

  // MARK: Requests

  /// Answers `POST /v1/events` or `/v1/identify`, the key being one that is let in.
  func answer(_ route: APIRoute, key: String, body: UnsafeRawBufferPointer) -> Answer {
    let now = configuration.clock.now
    return state.withLock { state in
      guard let app = state.app(of: key) else {
        return Answer(
          .serverError("There are \(StandInConfiguration.keysMax) keys already; restart the stand-in."), retryAfter: 60)
      }
      do throws(StandInError) {
        return switch route {
        case .events: try state.takeBatch(body, app, now)
        case .identify: try state.takeIdentify(body, app, now)
        }
      } catch {
        logger.error("the stand-in can't store events", about: error.description)
        return Answer(.serverError("The events can't be stored now."), retryAfter: 1)
      }
    }
  }
}

extension StandInCore.State {
  fileprivate mutating func app(of key: String) -> (index: Int, name: String)? {
    if let index = appsByKey[key] { return (index, account.name(of: index)) }
    let name = StandInCore.fingerprint(of: key)
    guard let index = account.app(name) else { return nil }
    appsByKey[key] = index
    return (index, name)
  }

  fileprivate mutating func takeBatch(
    _ body: UnsafeRawBufferPointer, _ app: (index: Int, name: String), _ now: Timestamp
  )
    throws(StandInError) -> StandInCore.Answer
  {
    if let refusal = reader.readBatch(body, receivedAt: now) { return StandInCore.Answer(refusal) }
    switch account.judge(reader, of: body, app: app.index, at: now) {
    case .failure(let refusal):
      statistics.count(refusal)
      return Self.answer(refusal)
    case .success(let decision):
      lines.removeAll(keepingCapacity: true)
      for (place, position) in decision.stored.enumerated() {
        let event = reader.accepted[position]
        JournalRecord.write(
          sequence: journal.next + UInt64(place), receivedAt: now, app: app.name, kind: .event,
          isClamped: event.isClamped, hasLineBreaks: event.hasLineBreaks, event: event.bytes(in: body), to: &lines)
      }
      if !decision.stored.isEmpty { try journal.append(lines, count: decision.stored.count) }
      account.commit(decision, reader.accepted, app: app.index, at: now)
      statistics.count(decision, total: reader.accepted.count + reader.rejected.count)
      var answer = StandInCore.Answer(status: 200)
      BatchAnswer.write(
        accepted: decision.stored.count + decision.duplicates, rejected: decision.rejected,
        clamped: decision.clamped, to: &answer.body)
      return answer
    }
  }

  private static func answer(_ refusal: Account.Refusal) -> StandInCore.Answer {
    switch refusal {
    case .rateLimited(let refusal):
      StandInCore.Answer(
        .rateLimited("Over the limit of events a minute of this \(refusal.scope.rawValue); nothing was stored."),
        retryAfter: refusal.retryAfter)
    case .quotaExceeded:
      StandInCore.Answer(.quotaExceeded("The month's events are past 110 % of the plan; nothing was stored."))
    case .tooManyKeys: StandInCore.Answer(.serverError("Too many keys."))
    }
  }

  fileprivate mutating func takeIdentify(
    _ body: UnsafeRawBufferPointer, _ app: (index: Int, name: String), _ now: Timestamp
  ) throws(StandInError) -> StandInCore.Answer {
    switch reader.readIdentify(body, receivedAt: now) {
    case .failure(let error): return StandInCore.Answer(error)
    case .success(let call):
      statistics.identifyCalls += 1
      guard account.isFirstLink(call, app: app.index) else { return StandInCore.Answer(status: 204) }
      lines.removeAll(keepingCapacity: true)
      JournalRecord.write(
        sequence: journal.next, receivedAt: now, app: app.name, kind: .identify, isClamped: false,
        hasLineBreaks: call.hasLineBreaks, event: call.bytes(in: body), to: &lines)
      try journal.append(lines, count: 1)
      account.commitLink(call, app: app.index)
      statistics.links += 1
      return StandInCore.Answer(status: 204)
    }
  }
}

extension StandInCore {
  /// What a key is called in listings: the key itself is never shown.
  static func fingerprint(of key: String) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var key = key
    _ = key.withUTF8 { crypto_sha256($0.baseAddress, $0.count, &digest) }
    let hex = Array("0123456789abcdef".utf8)
    var name = Array("key-".utf8)
    for byte in digest[..<4] { name += [hex[Int(byte >> 4)], hex[Int(byte & 15)]] }
    return String(decoding: name, as: UTF8.self)
  }
}

/// Takes an account back to where its file ends.
private final class Recall {
  private(set) var unreadable = 0
  private let now: Timestamp
  private let reader = EventsReader()

  init(clock: WallClock) { now = clock.now }

  func take(_ line: UnsafeRawBufferPointer, into account: inout Account) {
    guard let record = JournalRecord(line: line), let app = account.app(record.app) else {
      unreadable += 1
      return
    }
    let body = UnsafeRawBufferPointer(rebasing: line[record.event])
    switch record.kind {
    case .event:
      guard reader.readEvent(body, receivedAt: record.receivedAt, judgesTime: false) == nil,
        let event = reader.accepted.first
      else {
        unreadable += 1
        return
      }
      account.recall(event, name: event.name(in: body), app: app, storedAt: record.receivedAt, now: now)
    case .identify:
      guard case .success(let call) = reader.readIdentify(body, receivedAt: record.receivedAt) else {
        unreadable += 1
        return
      }
      account.recallLink(call, app: app)
    }
  }
}
