import Clocks
import Dialects
import HTTPServer

/// What the stand-in upstream is to be like.
public struct StandInConfiguration: Sendable {
  public var listen: ListenAddress
  /// What it speaks, all on one port.
  public var protocols: [any Dialect] = [DialectRegistry.usual]
  /// Where it keeps what it stores; nil: in memory, and only the latest of it.
  public var dataDirectory: String?
  public var failure: ForcedFailure?
  /// Whole seconds, sent as `Retry-After` with forced failures of 429 and 5xx; nil: such answers carry none.
  public var retryAfter: Int?
  /// By how long every answer of the API is delayed.
  public var latency: Duration = .zero
  public var limiter: LimiterKind = .sliding
  /// Events a minute of one key, and of one `anonymous_id` under it, where a protocol limits those; nil: its own limits.
  public var keyEventsPerMinute: Int?
  public var installEventsPerMinute: Int?
  /// Requests a minute of one key, where a protocol limits those; nil: its own limit.
  public var keyRequestsPerMinute: Int?
  /// How long the limits' minute is. Tests have shorter ones.
  public var minute: Duration = .seconds(60)
  /// The plan's events a month, all keys together, of protocols that have plans; past 110 % of it events are refused. Nil: no
  /// end.
  public var monthlyQuota: Int?
  /// The keys that are let in; nil: every key that isn't empty.
  public var keys: Set<String>?
  /// How many event ids are remembered, so that a repeated event is stored once: at least half as many as this, the
  /// latest. Installs' links to users are remembered likewise.
  public var rememberedMax = 1_000_000
  /// Bytes of records kept when there is no data directory; the oldest go first.
  public var memoryBytesMax = 64 << 20
  /// Bytes of records kept in a data directory; past them requests are answered with 503.
  public var fileBytesMax = 8 << 30
  /// Judges `occurred_at`, counts minutes and months.
  public var clock: WallClock = .system

  public init(listen: ListenAddress = .tcp(host: "127.0.0.1", port: 0), dataDirectory: String? = nil) {
    self.listen = listen
    self.dataDirectory = dataDirectory
  }

  /// How many different keys are known at most; more are answered with 503.
  public static let keysMax = 1000
}

/// How minutes are counted by the rate limits.
public enum LimiterKind: String, Sendable, CaseIterable {
  /// Never more than the limit in any 60 seconds.
  case sliding
  /// Never more than the limit in a minute of the clock.
  case fixed
  /// A bucket as large as the limit, refilled evenly.
  case bucket
  case none
}

/// A failure that is answered in place of the API's own answer: `503`, or `429:3` for the next three requests.
public struct ForcedFailure: Sendable, Equatable {
  /// 400 to 599.
  public var status: Int
  /// How many requests; nil: all.
  public var count: Int?

  public init(status: Int, count: Int? = nil) {
    self.status = status
    self.count = count
  }

  /// Reads `STATUS[:COUNT]`; nil when it is something else.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let status = Int(parts[0]), (400...599).contains(status) else { return nil }
    self.init(status: status)
    guard parts.count == 2 else { return }
    guard let count = Int(parts[1]), count > 0 else { return nil }
    self.count = count
  }

  /// Whether a request that comes now is to fail; one less then.
  mutating func takes() -> Bool {
    guard let left = count else { return true }
    guard left > 0 else { return false }
    count = left - 1
    return true
  }
}

/// Why the stand-in can't start: what, where, and what to do.
public struct StandInError: Error, Sendable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}
