/// The whole configuration, defaults filled in, paths made absolute, secrets read.
///
/// Its keys, defaults and units are described line by line in `Config/relay.example.yaml`.
public struct RelayConfiguration: Sendable, Equatable {
  public var dataDirectory: String
  public var ingest = Ingest()
  public var admin = Admin()
  public var apps: [App] = []
  public var log = Log()
  public var upstream = Upstream()
  public var sinks: [Sink] = []
  public var deadLetters = DeadLetters()
  public var positions = Positions()
  public var shutdownGrace: Duration = .seconds(10)
  public var logging = Logging()
  /// What is right and yet probably not meant, in the file's order.
  public var warnings: [ConfigurationFault] = []

  public init(dataDirectory: String) { self.dataDirectory = dataDirectory }

  /// Where a listener binds.
  public enum Address: Sendable, Hashable, CustomStringConvertible {
    /// A host name or address without brackets.
    case tcp(host: String, port: Int)
    case unix(path: String)

    public var description: String {
      switch self {
      case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      case .unix(let path): "unix:\(path)"
      }
    }
  }

  /// A value that must never be printed.
  public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The value itself, for those who send or compare it.
    public let revealed: String
    public init(_ value: String) { revealed = value }
    public var description: String { "(secret)" }
    public var debugDescription: String { "(secret)" }
  }

  public struct Ingest: Sendable, Equatable {
    public enum Keys: String, Sendable, CaseIterable { case any, listed }

    public var listen: [Address] = [.tcp(host: "127.0.0.1", port: 8787)]
    public var keys: Keys = .any
    public var maxConnections = 1024
    /// Of one address; 0: no limit; nil: three quarters of `maxConnections` for other machines', no limit for this one's.
    public var maxConnectionsPerAddress: Int?
    /// Bytes of all requests' bodies that are in memory at once.
    public var maxBodyMemory = 256 << 20
    public var headerTimeout: Duration = .seconds(10)
    public var bodyTimeout: Duration = .seconds(30)
    public var idleTimeout: Duration = .seconds(75)
    /// Of one app; 0: as many as come.
    public var maxEventsPerMinute = 0
    public var dedupe = Dedupe()
    /// Of its TCP addresses; nil: plain HTTP.
    public var tls: TLS?
  }

  /// For how long a repeated event is found to be one.
  public struct Dedupe: Sendable, Equatable {
    /// Zero: nobody looks.
    public var window: Duration = .zero
    public var maxIDs = 1_000_000
  }

  public struct Admin: Sendable, Equatable {
    public var listen: Address = .tcp(host: "127.0.0.1", port: 8788)
    public var token: Secret?
    public var hosts: [String] = []
    /// Nil: plain HTTP.
    public var tls: TLS?
  }

  public struct App: Sendable, Equatable {
    public var name: String
    /// The key the upstream gets; nil: the sender's own.
    public var writeKey: Secret?
    /// What senders may present besides `writeKey`.
    public var acceptKeys: [Secret] = []
    public var isDefault = false
    /// The protocol that its senders and its upstream speak.
    public var protocolName = "app-store-operator"
    /// How its events go upstream; nil: as ``RelayConfiguration/upstream`` says, which is for the first protocol.
    public var upstream: Upstream?
    /// The web origins whose pages may post.
    public var origins: [String] = []
    /// The persons whose events are not kept; nil: there is no list.
    public var deniedIDs: DeniedIDs?

    public init(name: String) { self.name = name }
  }

  public struct Log: Sendable, Equatable {
    public enum Durability: String, Sendable, CaseIterable { case fsync, os }
    public enum OnFull: String, Sendable, CaseIterable { case reject, dropOldest = "drop_oldest" }

    public var durability: Durability = .fsync
    /// Bytes.
    public var segmentSize = 64 << 20
    /// Bytes.
    public var maxSize = 8 << 30
    public var onFull: OnFull = .reject
    /// How long delivered segments stay, for replay; zero: they go at once.
    public var retain: Duration = .zero
    /// Bytes that must stay free on the file system.
    public var minFreeDisk = 256 << 20
  }

  public struct Upstream: Sendable, Equatable {
    /// The base without a trailing slash and without `/v1`.
    public var url = "https://api.app-store-operator.com"
    public var linger: Duration = .seconds(1)
    public var maxBatchEvents = 100
    /// Bytes.
    public var maxBatchBytes = 1 << 20
    public var timeout: Duration = .seconds(30)
    public var connectTimeout: Duration = .seconds(10)
    public var caFile: PEMFile?
    public var retry = Retry()
    public var rateLimit = RateLimit()
    /// Requests of one app under way at most.
    public var concurrency = 8
    public var onRefusedKey: OnRefusedKey = .hold
    public var onExpired: OnExpired = .send
    public var order: Order = .arrival

    public init() {}

    public enum OnRefusedKey: String, Sendable, CaseIterable { case hold, deadLetter = "dead_letter" }
    public enum OnExpired: String, Sendable, CaseIterable { case send, deadLetter = "dead_letter" }
    public enum Order: String, Sendable, CaseIterable { case arrival, oldestFirst = "oldest_first" }
  }

  public struct Retry: Sendable, Equatable {
    public var initial: Duration = .seconds(30)
    public var max: Duration = .seconds(600)
    /// A share of the delay, 0…1, that is added at random.
    public var jitter = 0.1
    /// Tries after which an event is given up; 0: never.
    public var maxAttempts = 0
  }

  /// What the upstream allows each key.
  public struct RateLimit: Sendable, Equatable {
    /// Events, or requests where the protocol counts those.
    public var eventsPerMinute = 10_000
    public var perInstallPerMinute = 300
    /// A share, 0…1.
    public var margin = 0.05
  }

  public struct Sink: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable { case event, identify }

    /// What sinks of every type can be told.
    public struct Common: Sendable, Equatable {
      /// Bytes of the log past which the sink alone loses its oldest events; nil: never.
      public var maxBehind: Int?
      /// The share of the installs whose events the sink gets, 0…1.
      public var sample = 1.0
      /// `only`: what the sink gets; empty: all.
      public var apps: [String] = []
      public var names: [String] = []
      public var kinds: [Kind] = []

      public init() {}
    }

    public var name: String
    public var type: String
    public var common: Common
    /// What its type alone is told.
    public var options: any SinkOptions
    /// Where its path, or its URL, stands in the file: for what is wrong with the place and not with the text.
    public var placeLine = 0
    public var placeKey = ""

    public init(name: String, type: String, common: Common = Common(), options: any SinkOptions) {
      self.name = name
      self.type = type
      self.common = common
      self.options = options
    }

    public static func == (one: Sink, other: Sink) -> Bool {
      one.name == other.name && one.type == other.type && one.common == other.common
        && one.options.isEqual(to: other.options)
    }
  }

  public struct DeadLetters: Sendable, Equatable {
    /// Bytes.
    public var maxSize = 1 << 30
    public var retention: Duration = .seconds(90 * 86_400)
  }

  public struct Positions: Sendable, Equatable {
    /// How long the place of a sink is kept that is no longer configured; zero: not at all.
    public var keep: Duration = .seconds(30 * 86_400)
  }

  public struct Logging: Sendable, Equatable {
    public enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }
    public enum Format: String, Sendable, CaseIterable { case text, json }

    public var level: Level = .info
    public var format: Format = .text
  }
}
