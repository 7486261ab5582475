import Dialects
import HTTPClient

/// How events are sent to an upstream.
public struct UpstreamConfiguration: Sendable, Equatable {
  /// Growing delays after failures.
  public struct Retry: Sendable, Equatable {
    public var initial: Duration
    public var max: Duration
    /// A share of the delay, 0…1, that is added at random; nothing is ever taken off.
    public var jitter: Double
    /// After so many tries without an answer an event is given up; 0: never.
    public var maxAttempts: Int

    public init(
      initial: Duration = .seconds(30), max: Duration = .seconds(600), jitter: Double = 0.1, maxAttempts: Int = 0
    ) {
      self.initial = initial
      self.max = max
      self.jitter = jitter
      self.maxAttempts = maxAttempts
    }

    var delays: RetryDelays { RetryDelays(initial: initial, max: max, jitter: jitter) }
  }

  /// What becomes of a lane's events once the upstream has refused its key, or its account's month, several times.
  public enum OnRefusedKey: String, Sendable, CaseIterable {
    case hold
    case deadLetter = "dead_letter"
  }

  /// What becomes of events that have grown older than 7 days in the relay, with a protocol whose upstream replaces their time.
  public enum OnExpired: String, Sendable, CaseIterable {
    /// They are sent; the upstream replaces their time.
    case send
    case deadLetter = "dead_letter"
  }

  /// Which of the lanes that could send sends first.
  public enum Order: String, Sendable, CaseIterable {
    /// The one that could first.
    case arrival
    /// The one with the oldest event.
    case oldestFirst = "oldest_first"
  }

  /// A protocol; two are the same when their numbers are.
  private struct Spoken: Sendable, Equatable {
    let dialect: any Dialect
    static func == (one: Spoken, other: Spoken) -> Bool { one.dialect.number == other.dialect.number }
  }

  private let spoken: Spoken
  /// The base, without what the protocol adds by itself: no slash at its end.
  public let base: String
  /// How long a part-filled batch waits for more events.
  public var linger: Duration
  /// 1…100.
  public var maxBatchEvents: Int
  /// Bytes of a request's body, the frame around the events included; a single larger event is sent all the same.
  public var maxBatchBytes: Int
  public var timeout: Duration
  public var connectTimeout: Duration
  /// The authorities to trust in place of the system's; nil: the system's.
  public var caFile: PEMSource?
  public var retry: Retry
  public var rateLimit: RateLimit
  /// Requests of one lane under way at most, 1…64; how many it is, answers decide.
  public var concurrency: Int
  public var onRefusedKey: OnRefusedKey
  public var onExpired: OnExpired
  /// That of ``Upstreams/usual`` holds for all.
  public var order: Order
  /// Whether events that were accepted for another upstream may be sent to this one. That of ``Upstreams/usual`` holds for all.
  public var adoptsWaitingEvents: Bool

  /// The protocol that the upstream speaks.
  public var dialect: any Dialect { spoken.dialect }

  /// - Parameter url: the base; ``OutgoingDialect/base(of:)`` says what means the same.
  public init(
    url: String, dialect: any Dialect = DialectRegistry.usual, linger: Duration = .seconds(1),
    maxBatchEvents: Int = 100, maxBatchBytes: Int = 1 << 20, timeout: Duration = .seconds(30),
    connectTimeout: Duration = .seconds(10), caFile: PEMSource? = nil, retry: Retry = Retry(),
    rateLimit: RateLimit = .off, concurrency: Int = 1, onRefusedKey: OnRefusedKey = .hold, onExpired: OnExpired = .send,
    order: Order = .arrival, adoptsWaitingEvents: Bool = false
  ) {
    spoken = Spoken(dialect: dialect)
    base = dialect.outgoing.base(of: url)
    self.linger = linger
    self.maxBatchEvents = max(1, maxBatchEvents)
    self.maxBatchBytes = maxBatchBytes
    self.timeout = timeout
    self.connectTimeout = connectTimeout
    self.caFile = caFile
    self.retry = retry
    self.rateLimit = rateLimit
    self.concurrency = concurrency
    self.onRefusedKey = onRefusedKey
    self.onExpired = onExpired
    self.order = order
    self.adoptsWaitingEvents = adoptsWaitingEvents
  }

  /// What a protocol does unless a configuration says something else.
  ///
  /// - Parameters:
  ///   - url: nil: the protocol's own upstream.
  ///   - minute: how long the rate limit's minute is.
  public init(defaultsOf dialect: any Dialect, url: String? = nil, minute: Duration = .seconds(60)) {
    let defaults = dialect.outgoing.defaults
    self.init(
      url: url ?? defaults.url, dialect: dialect, linger: defaults.linger, maxBatchEvents: defaults.maxBatchEvents,
      maxBatchBytes: defaults.maxBatchBytes, timeout: defaults.timeout, connectTimeout: defaults.connectTimeout,
      retry: Retry(initial: defaults.retry.initial, max: defaults.retry.max, jitter: defaults.retry.jitter),
      rateLimit: RateLimit(
        events: defaults.perMinute, eventsPerInstall: defaults.perInstallPerMinute, margin: defaults.margin,
        window: minute),
      concurrency: defaults.concurrency)
  }
}
