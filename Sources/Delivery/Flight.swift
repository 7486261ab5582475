import Clocks
import EventLog

/// A request under way.
struct Flight {
  let id: Int
  let lane: DeliveryLane
  /// How and where it was sent, whatever the configuration says since.
  let upstream: AppUpstream
  let outlet: Outlet
  let buffers: BufferPool.Buffers
  /// What it holds: exactly the batch's events.
  let events: EventRanges
  /// How many events of each install; nil: not counted.
  let installs: [UInt64: Int]?
  let kind: EventKind
  let began: ContinuousClock.Instant
  /// The key it is sent with.
  let sending: SendingKey
  /// How often its events were sent, this time included.
  let attempts: Int
  /// And how often without an answer, this time left out.
  let unanswered: Int
  /// Faults of the upstream's own in a row before.
  let serverFaults: Int
  /// It holds nothing but this one.
  let suspect: PoisonHunt.Suspect?
  /// Sent once more, since the answer before accounted for fewer events.
  let isDoubted: Bool

  var count: Int { events.count }

  /// What it takes of its key's limit.
  var cost: Int { upstream.cost(count) }

  /// Its events, to be sent again.
  ///
  /// - Parameter isUnanswered: this try brought no answer.
  func portion(serverFaults: Int = 0, isUnanswered: Bool = false) -> Portion {
    Portion(
      events: events.sorted(), attempts: attempts, unanswered: unanswered + (isUnanswered ? 1 : 0),
      serverFaults: serverFaults)
  }

  /// Whether this try, without an answer, was the last that is made.
  var isLastTry: Bool {
    let most = upstream.configuration.retry.maxAttempts
    return most > 0 && unanswered + 1 >= most
  }

  /// All installs whose events it holds.
  var installSet: Set<UInt64> { Set(buffers.batch.events.map(\.index.installHash)) }

  /// Those of its events, by their places in the batch, for which it holds; to be read again.
  func select(_ isWanted: (Int) -> Bool) -> EventRanges {
    let stored = buffers.batch.events
    return events.select({ stored[$0].sequence }, isWanted).sorted()
  }

  /// Two halves in the events' order.
  func halves() -> (first: EventRanges, second: EventRanges) {
    let middle = max(count / 2, 1)
    return (select { $0 < middle }, select { $0 >= middle })
  }

  /// Two halves by installs: none has events in both.
  func halvesByInstall() -> (first: EventRanges, second: EventRanges) {
    let stored = buffers.batch.events
    var order: [UInt64: Int] = [:]
    for event in stored where order[event.index.installHash] == nil { order[event.index.installHash] = order.count }
    let middle = (order.count + 1) / 2
    func isFirst(_ index: Int) -> Bool { order[stored[index].index.installHash, default: 0] < middle }
    return (select(isFirst), select { !isFirst($0) })
  }

  var installCount: Int { installs?.count ?? installSet.count }

  /// What of the request is never shown.
  var secrets: [String] { upstream.outgoing.secrets(of: buffers.batch, key: sending.key) }

  /// The upstream's code and message, should they repeat the key or what stands in its place, without it.
  func withoutSecrets(_ code: String?, _ message: String?) -> (code: String, message: String) {
    let secrets = secrets
    return (Self.blanked(code ?? "", secrets), Self.blanked(message ?? "", secrets))
  }

  /// Words without secrets. (What is shorter than this is no secret, and may be a word.)
  static func blanked(_ words: String, _ secrets: [String]) -> String {
    secrets.reduce(words) { words, secret in
      guard secret.utf8.count >= 8, words.contains(secret) else { return words }
      return words.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "(key)")
    }
  }
}
