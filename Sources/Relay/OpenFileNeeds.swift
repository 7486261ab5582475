import Configuration

/// How many files, connections and the like (descriptors) the parts of a relay need, and who gets how many of those there
/// may be: first the log, the positions, the sinks and the way to the upstream, then senders.
struct OpenFileNeeds: Sendable, Equatable {
  /// Who may have how many.
  struct Shares: Sendable, Equatable {
    /// Senders' connections.
    var connections: Int
    /// Connections to upstreams.
    var transfers: Int
    /// Connections to the admin listener.
    var admin: Int
  }

  /// Fewer connections of senders aren't worth a start.
  static let connectionsMin = 4
  private static let transfers = 4...128
  private static let adminConnections = 4...64
  /// Segments of the log that are kept open for reading; see `SegmentCatalog`.
  private static let segments = 2...16
  /// Files of a sink with one file an app; see `NDJSONWorker`.
  private static let lineFiles = 4...64
  /// Standard input, output and error, timers, the lock, event loops; and what is open for a moment: a position or a key that
  /// is replaced, dead letters, the audit trail, a name that is looked up, a connection that is refused.
  private static let always = 16
  /// A listener's socket, and by what its thread waits.
  private static let listener = 5

  /// `ingest.max_connections`.
  private let connections: Int
  /// What doesn't depend on how many there may be.
  private var fixed: Int
  private var filesByApp = 0

  init(_ configuration: RelayConfiguration, standsIn: Bool = false) {
    connections = configuration.ingest.maxConnections
    // The log's tail, the next segment and the one that is being read for each destination.
    fixed = Self.always + 3 + 1 + configuration.sinks.count
    fixed += Self.listener * (configuration.ingest.listen.count + 1)
    if standsIn { fixed += Self.listener + Self.transfers.lowerBound * 2 }
    if configuration.ingest.dedupe.window > .zero { fixed += 3 }
    for sink in configuration.sinks {
      switch sink.type {
      // A directory, the manifest, a file and its salts, and one more of each when they are published.
      case "archive": fixed += 6
      // Two connections, and by what its thread waits.
      case "webhook": fixed += 6
      default:
        fixed += 3
        if sink.options.path?.contains("%app") == true { filesByApp += 1 }
      }
    }
  }

  /// How many descriptors there must be for a start.
  var least: Int {
    fixed + Self.segments.lowerBound + filesByApp * Self.lineFiles.lowerBound + Self.transfers.lowerBound
      + Self.adminConnections.lowerBound + min(Self.connectionsMin, connections)
  }

  /// How many let every part have all that it may use.
  var most: Int {
    fixed + Self.segments.upperBound + filesByApp * Self.lineFiles.upperBound + Self.transfers.upperBound
      + Self.adminConnections.upperBound + connections
  }

  /// Who gets how many of so many; nil when they are too few.
  func shares(of limit: Int) -> Shares? {
    guard limit >= least else { return nil }
    if limit >= most {
      return Shares(
        connections: connections, transfers: Self.transfers.upperBound, admin: Self.adminConnections.upperBound)
    }
    let transfers = Self.clamp(limit / 8 - 4, Self.transfers)
    let admin = Self.clamp(limit / 16, Self.adminConnections)
    let files =
      Self.clamp(limit / 32, Self.segments) + filesByApp * Self.clamp(limit / 16, Self.lineFiles) + transfers + admin
    let left = limit - fixed - files
    return Shares(
      connections: max(min(Self.connectionsMin, connections), min(connections, left)), transfers: transfers,
      admin: admin)
  }

  private static func clamp(_ number: Int, _ range: ClosedRange<Int>) -> Int {
    min(max(number, range.lowerBound), range.upperBound)
  }
}
