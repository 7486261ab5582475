import Glibc
import Observability

/// How many files and connections the process may have open.
///
/// Senders' connections must not take what the log, the sinks and the way upstream need: they would be refused for want
/// of a descriptor that an idle connection holds.
struct DescriptorLimit: Sendable, Equatable {
  /// The limit in force, and the one to which it can be raised.
  var current, highest: Int

  /// Kept for everything but senders: files, the admin listener's connections, those to the upstream.
  static let reserve = 256

  /// The limit with which so many senders can be connected, or the nearest to it that can be had.
  func raised(for connections: Int) -> DescriptorLimit {
    let (wanted, isTooMany) = connections.addingReportingOverflow(Self.reserve)
    return DescriptorLimit(current: max(current, min(isTooMany ? .max : wanted, highest)), highest: highest)
  }

  /// How many of the configured connections leave enough for the rest; at least a quarter of the limit.
  func connections(of configured: Int) -> Int { min(configured, max(current - Self.reserve, current / 4, 1)) }

  /// Makes room for the connections that are configured, and says how many there is room for.
  static func makeRoom(for connections: Int, logger: Logger) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var raw = rlimit()
    guard getrlimit(resource, &raw) == 0 else { return connections }
    var limit = DescriptorLimit(current: Int(clamping: raw.rlim_cur), highest: Int(clamping: raw.rlim_max))
    let raised = limit.raised(for: connections)
    if raised != limit {
      raw.rlim_cur = rlim_t(raised.current)
      if setrlimit(resource, &raw) == 0 { limit = raised }
    }
    let taken = limit.connections(of: connections)
    if taken < connections {
      logger.warning(
        "fewer connections than ingest.max_connections are taken, since too few files may be open; raise the limit (ulimit -n, LimitNOFILE)",
        [
          "open_files": .integer(limit.current), "needed": .integer(connections &+ reserve),
          "max_connections": .integer(taken),
        ])
    }
    return taken
  }
}
