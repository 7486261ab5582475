import Glibc
import Observability

/// How many files and connections the process may have open, so that senders' connections never take those that the
/// log, the sinks and the way to the upstream need.
enum OpenFileLimit {
  /// Files and connections kept for everything but senders.
  static let reserve = 192

  /// Raises the limit as far as it is needed and allowed.
  ///
  /// - Returns: how many connections of senders fit below it, at most those configured.
  static func makeRoom(forConnections configured: Int, _ logger: Logger) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return configured }
    let needed = rlim_t(configured + reserve)
    if limit.rlim_cur < needed {
      var raised = limit
      raised.rlim_cur = min(needed, limit.rlim_max)
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    let fitting = connections(configured, under: Int(clamping: limit.rlim_cur))
    if fitting < configured {
      logger.warning(
        "the limit of open files is too low for ingest.max_connections: fewer are taken; raise it (LimitNOFILE, ulimit -n)",
        [
          "limit": .integer(Int(clamping: limit.rlim_cur)), "needed": .integer(configured + reserve),
          "connections": .integer(fitting),
        ])
    }
    return fitting
  }

  /// How many of the connections fit under a limit of open files.
  static func connections(_ configured: Int, under limit: Int) -> Int {
    max(1, min(configured, max(limit - reserve, limit / 2)))
  }
}
