import CCrypto
import Clocks
import Dialects
import EventLog
import EventsAPI
import JSON
import Observability
import Synchronization

/// The stand-in without its HTTP: takes bodies, gives answers, keeps what was stored. Of protocols it knows only that there are
/// some: routes, rules and answers are theirs.
final class StandInCore: Sendable {
  /// A path, and whose it is.
  struct Served: Sendable {
    var dialect: any Dialect
    var route: IncomingRoute
  }

  /// Unchecked because of the journal and the readers, which nobody has but the state, and it only under the lock.
  struct State: @unchecked Sendable {
    var account: Account
    /// By protocol.
    var statistics: [UInt8: StandInStatistics] = [:]
    var journal: any Journal
    var readers: [UInt8: any IncomingReader] = [:]
    var failure: ForcedFailure?
    var appsByKey: [SenderKey: Int] = [:]
    var lines: [UInt8] = []
  }

  struct SenderKey: Hashable {
    var dialect: UInt8
    var key: String
  }

  let configuration: StandInConfiguration
  let logger: Logger
  let state: Mutex<State>
  private let served: [String: Served]

  /// Opens what an earlier life stored. Reads files; called before the server starts.
  init(_ configuration: StandInConfiguration, logger: Logger) throws(StandInError) {
    self.configuration = configuration
    self.logger = logger
    var served: [String: Served] = [:]
    for dialect in configuration.protocols {
      for route in dialect.incoming.routes { served[route.path] = Served(dialect: dialect, route: route) }
    }
    self.served = served
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

  /// Whose a path is; nil when no protocol that it speaks has it.
  subscript(path: String) -> Served? { served[path] }

  /// Whether the next request fails by order, in its protocol's form; one less then.
  func takeForcedFailure(_ dialect: any Dialect) -> DialectAnswer? {
    state.withLock { state in
      guard state.failure?.takes() == true, let status = state.failure?.status else { return nil }
      state.statistics[dialect.number, default: StandInStatistics()].forcedFailures += 1
      return dialect.answer(
        Self.forced(status), retryAfter: status == 429 || status >= 500 ? configuration.retryAfter : nil)
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

  func count(_ status: Int, _ served: Served) {
    state.withLock {
      $0.statistics[served.dialect.number, default: StandInStatistics()].count(status, served.route.path)
    }
  }

  // MARK: Requests

  /// Why a request with this key isn't let in; nil when it is.
  func refusal(ofKey key: String?, _ served: Served) -> APIError? {
    guard let key, !key.isEmpty else {
      return .invalidWriteKey("\(served.dialect.incoming.keyPlace(served.route)) is missing.")
    }
    guard configuration.keys?.contains(key) ?? true else {
      return .invalidWriteKey("This key is unknown or revoked.")
    }
    return nil
  }

  /// Answers a request that one of the routes takes.
  func answer(_ served: Served, _ request: any IncomingRequest, body: UnsafeRawBufferPointer) -> DialectAnswer {
    let now = configuration.clock.now
    let dialect = served.dialect
    return state.withLock { state in
      let reader = state.reader(of: dialect)
      let fault = reader.read(body, of: request, served.route, receivedAt: now, judgesTime: true)
      let key: String
      switch self.key(of: request, served, reader, fault) {
      case .success(let found): key = found
      case .failure(let error): return dialect.incoming.answer(error)
      }
      if let fault { return dialect.incoming.answer(fault) }
      guard let app = state.app(of: key, dialect) else {
        return dialect.answer(
          .serverError("There are \(StandInConfiguration.keysMax) keys already; restart the stand-in."), retryAfter: 60)
      }
      do throws(StandInError) {
        return try state.take(reader, dialect, app, now)
      } catch {
        logger.error("the stand-in can't store events", about: error.description)
        return dialect.answer(.serverError("The events can't be stored now."), retryAfter: 1)
      }
    }
  }

  /// Who may not send is told so first, and not what is wrong with what it sends.
  private func key(
    of request: any IncomingRequest, _ served: Served, _ reader: any IncomingReader, _ fault: APIError?
  ) -> Result<String, APIError> {
    let key: String?
    switch served.dialect.incoming.keyClaim(of: request, served.route) {
    case .head(let found): key = found
    case .body:
      switch reader.bodyKey {
      case .unknown: return .failure(fault ?? .invalidBody("The body can't be read."))
      case .missing: key = nil
      case .key(let found): key = found
      case .refused(let why): return .failure(.invalidWriteKey(why))
      }
    }
    if let refusal = refusal(ofKey: key, served) { return .failure(refusal) }
    return .success(key ?? "")
  }
}

extension StandInCore.State {
  fileprivate mutating func reader(of dialect: any Dialect) -> any IncomingReader {
    if let reader = readers[dialect.number] { return reader }
    let reader = dialect.incoming.makeReader()
    readers[dialect.number] = reader
    return reader
  }

  fileprivate mutating func app(of key: String, _ dialect: any Dialect) -> Int? {
    let sender = StandInCore.SenderKey(dialect: dialect.number, key: key)
    if let index = appsByKey[sender] { return index }
    guard let index = account.app(StandInCore.fingerprint(of: key), dialect) else { return nil }
    appsByKey[sender] = index
    return index
  }

  /// Stores what a reader has read, as far as it is new and may be.
  fileprivate mutating func take(
    _ reader: any IncomingReader, _ dialect: any Dialect, _ app: Int, _ now: Timestamp
  ) throws(StandInError) -> DialectAnswer {
    switch account.judge(reader, app: app, at: now) {
    case .failure(let refusal):
      statistics[dialect.number, default: StandInStatistics()].count(refusal)
      return Self.answer(refusal, dialect)
    case .success(let decision):
      try store(decision, reader, dialect, app, now)
      account.commit(decision, reader, app: app, at: now)
      if !decision.overNames.isEmpty, let max = dialect.incoming.serving.namesMax {
        reader.overrule(
          decision.overNames, code: dialect.incoming.serving.namesCode,
          message: "The app has \(max) event names already, and this would be a new one.")
      }
      statistics[dialect.number, default: StandInStatistics()].count(decision, reader)
      return reader.answer()
    }
  }

  private mutating func store(
    _ decision: Account.Decision, _ reader: any IncomingReader, _ dialect: any Dialect, _ app: Int, _ now: Timestamp
  ) throws(StandInError) {
    guard !decision.stored.isEmpty else { return }
    let (accepted, body) = (reader.accepted, reader.storedBody)
    lines.removeAll(keepingCapacity: true)
    for (place, position) in decision.stored.enumerated() {
      let event = accepted[position]
      JournalRecord.write(
        sequence: journal.next + UInt64(place), receivedAt: now, app: account.name(of: app), kind: reader.kind,
        dialect: dialect, isClamped: event.isClamped, hasLineBreaks: event.hasLineBreaks, event: event.bytes(in: body),
        to: &lines)
    }
    try journal.append(lines, count: decision.stored.count)
  }

  private static func answer(_ refusal: Account.Refusal, _ dialect: any Dialect) -> DialectAnswer {
    switch refusal {
    case .rateLimited(let refusal):
      let what = dialect.outgoing.habits.limitUnit == .requests ? "requests" : "events"
      return dialect.answer(
        .rateLimited("Over the limit of \(what) a minute of this \(refusal.scope.rawValue); nothing was stored."),
        retryAfter: refusal.retryAfter)
    case .quotaExceeded:
      return dialect.answer(.quotaExceeded("The month's events are past 110 % of the plan; nothing was stored."))
    }
  }
}

extension Dialect {
  /// An error in the protocol's form.
  ///
  /// - Parameter retryAfter: whole seconds, for the header of the name.
  func answer(_ error: APIError, retryAfter: Int? = nil) -> DialectAnswer {
    var answer = incoming.answer(error)
    if let retryAfter { answer.headers.append(("Retry-After", "\(retryAfter)")) }
    return answer
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
