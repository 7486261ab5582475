import Configuration

/// How many files, connections and the like (descriptors) the parts of a relay need, and who gets how many of those there
/// may be: the log, the positions, the sinks and the way to the upstream have what they can't do without, and
/// senders get most of the rest.
struct OpenFileNeeds: Sendable, Equatable {
  /// Who may have how many.
  struct Shares: Sendable, Equatable {
    /// Senders' connections.
    var connections: Int
    /// Connections to upstreams.
    var transfers: Int
    /// Connections to the admin listener.
    var admin: Int
    /// Segments of the log that are kept open for reading.
    var segments: Int
    /// Files of each sink with one file an app.
    var lineFiles: Int
  }

  /// Fewer connections of senders aren't worth a start.
  static let connectionsMin = 4
  private static let transfers = 4...128
  private static let adminConnections = 4...64
  private static let segments = 2...16
  private static let lineFiles = 4...64
  /// Standard input, output and error, timers, the lock, event loops; and what is open for a moment: a position or a key that
  /// is replaced, dead letters, the audit trail, a name that is looked up, a connection that is refused.
  private static let always = 16
  private static let queue = 4
  /// A listener's socket, and by what its thread waits.
  private static let listener = 5

  /// `ingest.max_connections`.
  private let connections: Int
  /// What doesn't depend on how many there may be.
  private var fixed: Int
  private var filesByApp = 0
  /// Of the queues of events that are sent again, one for each destination: a tail, and what is read.
  private let queues: Int

  init(_ configuration: RelayConfiguration, standsIn: Bool = false) {
    connections = configuration.ingest.maxConnections
    queues = Self.queue * (configuration.sinks.count + 1)
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
    fixed + queues + Self.segments.upperBound + filesByApp * Self.lineFiles.upperBound + Self.transfers.upperBound
      + Self.adminConnections.upperBound + connections
  }

  /// Who gets how many of so many; nil when they are too few.
  ///
  /// All have the least first, and what is left is divided: what is given out is never more than there is.
  func shares(of limit: Int) -> Shares? {
    guard limit >= least else { return nil }
    var left = limit - least
    left -= min(left, queues)
    var shares = Shares(
      connections: min(Self.connectionsMin, connections), transfers: Self.transfers.lowerBound,
      admin: Self.adminConnections.lowerBound, segments: Self.segments.lowerBound, lineFiles: Self.lineFiles.lowerBound)
    func raise(_ share: WritableKeyPath<Shares, Int>, to most: Int, times count: Int = 1, by part: Double) {
      guard count > 0 else { return }
      let more = min(most - shares[keyPath: share], Int(Double(left) * part) / count)
      shares[keyPath: share] += more
      left -= more * count
    }
    // A part of what is left for each but senders, who get the rest; and what they don't need is for all.
    for part in [0.125, 1] {
      raise(\.segments, to: Self.segments.upperBound, by: part)
      raise(\.lineFiles, to: Self.lineFiles.upperBound, times: filesByApp, by: part)
      raise(\.transfers, to: Self.transfers.upperBound, by: part)
      raise(\.admin, to: Self.adminConnections.upperBound, by: part)
      raise(\.connections, to: connections, by: 1)
    }
    return shares
  }
}
