import Configuration
import Glibc
import Observability

/// How many files and connections the process may have open, so that senders' connections never take those that the
/// log, the sinks and the way to the upstream need.
enum OpenFileLimit {
  /// Raises the limit as far as it is needed and allowed. To be called before anything is opened that depends on it.
  ///
  /// - Throws: when even then it is too low for a start, with the number that would do.
  static func makeRoom(for needs: OpenFileNeeds, _ logger: Logger) throws(RelayError) -> OpenFileNeeds.Shares {
    let limit = raise(to: needs.most)
    guard let shares = needs.shares(of: limit) else {
      throw RelayError(
        "the limit of open files is \(limit), and this configuration needs at least \(needs.least) "
          + "(\(needs.most) for all that it allows); raise it (LimitNOFILE, ulimit -n), or configure fewer sinks or listeners"
      )
    }
    if limit < needs.most {
      logger.warning(
        "the limit of open files is too low for all that is configured: fewer connections are taken; raise it (LimitNOFILE, ulimit -n)",
        [
          "limit": .integer(limit), "needed": .integer(needs.most), "connections": .integer(shares.connections),
          "upstream_connections": .integer(shares.transfers),
        ])
    }
    return shares
  }

  /// The limit, raised to so many where that is allowed.
  private static func raise(to needed: Int) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return needed }
    if limit.rlim_cur < rlim_t(needed) {
      var raised = limit
      raised.rlim_cur = min(rlim_t(needed), limit.rlim_max)
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
