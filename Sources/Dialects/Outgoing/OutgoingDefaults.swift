/// How events go upstream unless the configuration says something else: the defaults of `upstream`'s keys, for one protocol.
public struct OutgoingDefaults: Sendable, Equatable {
  public var url: String
  public var linger: Duration
  /// Events of one request: the default, and the most that may be configured.
  public var maxBatchEvents: Int
  /// Bytes of a request's body: the default, and the most that may be configured.
  public var maxBatchBytes: Int
  public var timeout: Duration
  public var connectTimeout: Duration = .seconds(10)
  public var retry: RetryDelays
  /// In a minute with one key, of what ``OutgoingHabits/limitUnit`` says; 0: no limit.
  public var perMinute: Int
  /// Events in a minute of one install; 0: no limit.
  public var perInstallPerMinute: Int = 0
  /// The share of the limits that is left unused.
  public var margin: Double = 0
  /// Requests of one app under way at most: the default, and the most that may be configured.
  public var concurrency: Int

  public init(
    url: String, linger: Duration, maxBatchEvents: Int, maxBatchBytes: Int, timeout: Duration, retry: RetryDelays,
    perMinute: Int, concurrency: Int
  ) {
    self.url = url
    self.linger = linger
    self.maxBatchEvents = maxBatchEvents
    self.maxBatchBytes = maxBatchBytes
    self.timeout = timeout
    self.retry = retry
    self.perMinute = perMinute
    self.concurrency = concurrency
  }
}

/// What a protocol wants done that isn't configured.
public struct OutgoingHabits: Sendable, Equatable {
  public enum LimitUnit: Sendable { case events, requests }

  /// What becomes of events with which the upstream fails (5xx) again and again.
  public enum ServerFaultHabit: Sendable {
    /// A batch is halved; a single event that fails while others pass is given up as poison.
    case findPoison
    /// A single event that fails lets other persons' events pass, and is tried again for ever.
    case stepAside
    /// Everything waits, in its order.
    case wait
  }

  /// What becomes of events whose key the upstream refuses (401, 403).
  public enum RefusalHabit: Sendable {
    /// The first ones are given up; from the third refusal in a row on, what waits is held.
    case holdAfterThree
    /// All wait, from the first on.
    case holdAtOnce
  }

  /// A request holds what one request of a sender brought, and no more.
  public var keepsRequestsApart = false
  /// With so many waiting, a request goes without lingering; it may hold more. Nil: a full one.
  public var goesWith: Int?
  public var limitUnit: LimitUnit = .events
  /// A 429 may be about one install: it is found by halving.
  public var limitsInstalls = false
  public var onServerFault: ServerFaultHabit = .findPoison
  public var onRefusal: RefusalHabit = .holdAfterThree
  /// The upstream replaces times out of range, and events grow too old for it.
  public var clampsTime = false
  /// An answer that accounts for fewer events than were sent has them sent once more.
  public var doubtsCounts = false

  public init() {}
}
