/// Until when a connection may be in the phase it is in. Moments are nanoseconds of the monotonic clock.
struct ConnectionTimer: Sendable {
  enum Phase: Sendable, Equatable {
    /// Connected; nothing of a request is known to have come.
    case fresh
    /// Between requests, since not long.
    case idle
    /// Between requests, and told of the first byte of the next.
    case watched
    /// A request's head is coming.
    case head
    /// A request's body is coming.
    case body
    /// A body that nobody wants is coming.
    case discarding
    /// The request waits for its answer.
    case handling
    /// The answer is on its way.
    case answering
    /// Answered and closed on our side before the body was there, so that the client sees the answer.
    case lingering
  }

  /// What to do with a connection whose time is up.
  enum Expiry: Sendable, Equatable {
    case watch, cut, answerBodyTimeout, answerUnread, checkProgress
  }

  /// The server's timeouts in nanoseconds.
  struct Limits: Sendable {
    var header, body, idle, discard, linger: UInt64
    /// After how much idleness a connection is watched for its next byte.
    var watch: UInt64

    init(header: Duration, body: Duration, idle: Duration, discard: Duration) {
      self.header = header.clampedNanoseconds
      self.body = body.clampedNanoseconds
      self.idle = idle.clampedNanoseconds
      self.discard = discard.clampedNanoseconds
      linger = min(self.discard, 1_000_000_000)
      watch = min(self.header / 4, self.idle / 4, 1_000_000_000)
    }
  }

  static let never = UInt64.max

  private(set) var phase: Phase
  private(set) var deadline: UInt64
  private let limits: Limits
  /// When what the client does now began.
  private(set) var since: UInt64

  init(_ limits: Limits, now: UInt64) {
    self.limits = limits
    phase = .fresh
    since = now
    deadline = now + limits.header
  }

  private mutating func enter(_ phase: Phase, _ deadline: UInt64, since: UInt64? = nil) {
    if let since { self.since = since }
    self.phase = phase
    self.deadline = deadline
  }

  /// A byte of the next request came, or its first line. What a request has used of its time is not given back.
  mutating func headBegan(now: UInt64) {
    switch phase {
    case .fresh: enter(.head, deadline, since: now)
    case .head: break
    default: enter(.head, now + limits.header, since: now)
    }
  }

  mutating func headEnded(now: UInt64) { enter(.body, now + limits.body, since: now) }

  /// What comes of the body from now on is thrown away.
  mutating func discardingBegan(now: UInt64) {
    enter(.discarding, min(deadline, now + limits.discard))
  }

  mutating func bodyEnded() { enter(.handling, Self.never) }

  mutating func answerBegan(now: UInt64) { enter(.answering, now + limits.idle) }

  mutating func lingeringBegan(now: UInt64) { enter(.lingering, now + limits.linger) }

  mutating func requestEnded(now: UInt64) {
    enter(.idle, now + min(limits.watch, limits.idle), since: now)
  }

  /// A head that isn't there by this moment isn't waited for.
  mutating func hurry(until moment: UInt64) {
    switch phase {
    case .fresh, .idle, .watched, .head: deadline = min(deadline, moment)
    case .body, .discarding, .handling, .answering, .lingering: break
    }
  }

  /// What has to be done, the deadline having passed.
  mutating func expire(now: UInt64) -> Expiry {
    switch phase {
    case .idle where since + limits.idle > now:
      enter(.watched, since + limits.idle)
      return .watch
    case .fresh, .idle, .watched, .head, .lingering, .handling:
      deadline = Self.never
      return .cut
    case .body: return .answerBodyTimeout
    case .discarding: return .answerUnread
    case .answering:
      deadline = now + limits.idle
      return .checkProgress
    }
  }

  /// Whether a whole request is there and its answer isn't sent yet.
  var isAnswering: Bool { phase == .handling || phase == .answering }

  /// Whether nothing of a request is known to be under way.
  var isBetweenRequests: Bool { phase == .fresh || phase == .idle || phase == .watched }
}

extension Duration {
  /// Nanoseconds, at least one and at most a hundred years.
  fileprivate var clampedNanoseconds: UInt64 {
    let century: Int64 = 100 * 365 * 86_400
    if components.seconds >= century { return UInt64(century) * 1_000_000_000 }
    return UInt64(max(1, components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000))
  }
}

extension ConnectionTimer.Limits {
  init(_ configuration: HTTPServerConfiguration) {
    self.init(
      header: configuration.headerTimeout, body: configuration.bodyTimeout, idle: configuration.idleTimeout,
      discard: configuration.discardTimeout)
  }
}
