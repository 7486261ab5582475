import EventsAPI
import HTTPClient

/// How events are sent upstream.
public struct UpstreamConfiguration: Sendable, Equatable {
  /// Growing delays after failures.
  public struct Retry: Sendable, Equatable {
    public var initial: Duration
    public var max: Duration
    /// A share of the delay, 0…1, that is added at random; nothing is ever taken off.
    public var jitter: Double

    public init(initial: Duration = .seconds(30), max: Duration = .seconds(600), jitter: Double = 0.1) {
      self.initial = initial
      self.max = max
      self.jitter = jitter
    }
  }

  /// What becomes of a lane's events once the upstream has refused its key, or its account's month, several times.
  public enum OnRefusedKey: String, Sendable, CaseIterable {
    case hold
    case deadLetter = "dead_letter"
  }

  /// What becomes of events that have grown older than 7 days in the relay.
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

  /// The base without a trailing slash and without `/v1`; the API's paths are added to it.
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
  public var order: Order
  /// Whether events that were accepted for another upstream may be sent to this one.
  public var adoptsWaitingEvents: Bool

  /// - Parameter url: the base; one that ends in `/`, `/v1` or `/v1/` means the same without it.
  public init(
    url: String, linger: Duration = .seconds(1), maxBatchEvents: Int = 100, maxBatchBytes: Int = 1 << 20,
    timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10), caFile: PEMSource? = nil,
    retry: Retry = Retry(), rateLimit: RateLimit = .off, concurrency: Int = 1, onRefusedKey: OnRefusedKey = .hold,
    onExpired: OnExpired = .send, order: Order = .arrival, adoptsWaitingEvents: Bool = false
  ) {
    base = Self.base(of: url)
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

  func url(of route: APIRoute) -> String { base + route.path }

  var schedule: RetrySchedule { RetrySchedule(initial: retry.initial, max: retry.max, jitter: retry.jitter) }

  private static func base(of url: String) -> String {
    var rest = Substring(url)
    while rest.hasSuffix("/") { rest.removeLast() }
    if rest.hasSuffix("/v1") {
      rest.removeLast(3)
      while rest.hasSuffix("/") { rest.removeLast() }
    }
    return String(rest)
  }
}
