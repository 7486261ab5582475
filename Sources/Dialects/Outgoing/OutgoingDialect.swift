import Clocks
import EventLog
import EventsAPI
import HTTPClient

/// How a protocol's events go to its upstream. Decisions only: facts in, what to do out.
public protocol OutgoingDialect: Sendable {
  var defaults: OutgoingDefaults { get }
  var habits: OutgoingHabits { get }

  /// What the upstream's keys begin with, so that a configuration with another one can be doubted; none when nobody knows.
  var keyPrefixes: [String] { get }

  /// The base that a configured URL means: no slash at its end, and no path that the protocol adds by itself.
  func base(of url: String) -> String

  /// Where the batch's events go, and with which headers.
  func target(of batch: EventBatch, key: String) -> OutgoingTarget

  /// What of a request lets its sender in, so that it isn't shown where the upstream repeats it: the key, and what stands in its
  /// place.
  func secrets(of batch: EventBatch, key: String) -> [String]

  /// What to do when the upstream refuses the key of a request: `set the right write_key and reload`.
  func advice(onRefused batch: EventBatch) -> String

  /// Bytes around a request's events, at least.
  var frameBytes: Int { get }

  /// Fills a request's body with the batch's first events, byte by byte as they came.
  ///
  /// - Parameter bytesMax: of the body; a single larger event goes in all the same.
  /// - Returns: how many events went in; at least one.
  func fill(_ body: RequestBody, from batch: EventBatch, key: String, now: Timestamp, bytesMax: Int) -> Int

  /// What the upstream's answer means.
  func judge(_ answer: UpstreamAnswer) -> UpstreamVerdict

  /// How long to wait after a try that failed.
  func wait(after failure: FailedTries, _ retry: RetryDelays) -> Duration
}

extension OutgoingDialect {
  public var keyPrefixes: [String] { [] }

  public func secrets(of batch: EventBatch, key: String) -> [String] { [key] }

  public func advice(onRefused batch: EventBatch) -> String { "set the right write_key and reload" }
}

/// Where a request goes.
public struct OutgoingTarget: Sendable, Equatable {
  /// Behind the base, with its slash.
  public var path: String
  /// Whole lines, `Name: value`.
  public var headers: [String]

  public init(path: String, headers: [String]) {
    self.path = path
    self.headers = headers
  }
}

/// What came back.
public struct UpstreamAnswer: Sendable {
  public var status: Int
  /// All values of the header.
  public var retryAfter: [String]
  public var body: [UInt8]
  /// The body was longer than what is in `body`.
  public var isBodyCut: Bool
  /// Events that the request held.
  public var sentEvents: Int
  public var kind: EventKind
  public var now: Timestamp

  public init(
    status: Int, retryAfter: [String] = [], body: [UInt8] = [], isBodyCut: Bool = false, sentEvents: Int,
    kind: EventKind = .event, now: Timestamp
  ) {
    self.status = status
    self.retryAfter = retryAfter
    self.body = body
    self.isBodyCut = isBodyCut
    self.sentEvents = sentEvents
    self.kind = kind
    self.now = now
  }
}

/// A lane's tries that have failed in a row.
public struct FailedTries: Sendable, Equatable {
  /// This one included, those that were told to wait (429) too.
  public var count: Int
  /// Those of them that were told to wait.
  public var rateLimited: Int
  /// This one was told to wait.
  public var isRateLimited: Bool
  /// What the upstream asks for.
  public var asked: RetryAfter?
  /// A random number from 0 up to 1, for jitter.
  public var roll: Double

  public init(count: Int, rateLimited: Int = 0, isRateLimited: Bool = false, asked: RetryAfter? = nil, roll: Double = 0)
  {
    self.count = count
    self.rateLimited = rateLimited
    self.isRateLimited = isRateLimited
    self.asked = asked
    self.roll = roll
  }
}

/// The configured delays: `upstream.retry`.
public struct RetryDelays: Sendable, Equatable {
  public var initial: Duration
  public var max: Duration
  /// A share; nothing is ever taken off by it.
  public var jitter: Double

  public init(initial: Duration, max: Duration, jitter: Double) {
    self.initial = initial
    self.max = max
    self.jitter = jitter
  }
}
