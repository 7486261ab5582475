/// What can be done to a relay, each by the name that `--faults` takes.
public enum TortureFault: String, Sendable, CaseIterable {
  case kill, pause, restart, reload
  case reset, stall, error, limit, lie
  case diskFull = "disk-full"
  case failedSync = "failed-sync"
  case shortWrite = "short-write"
  case slowSync = "slow-sync"
  case readError = "read-error"
  case clock
  case truncate, flip, cursor

  /// One line for people.
  public var summary: String {
    switch self {
    case .kill: "kill -9 at any moment, and a new start"
    case .pause: "SIGSTOP for a while, then SIGCONT"
    case .restart: "SIGTERM, which must end it with 0, and a new start"
    case .reload: "another configuration, taken while it runs"
    case .reset: "the upstream and the webhook's receiver reset connections, before or after storing"
    case .stall: "they answer nothing, or after the relay's patience is over"
    case .error: "they answer 500 to 504 in their own words or a proxy's, and may have stored"
    case .limit: "they answer 429 with a Retry-After"
    case .lie: "they answer 200 with a portal's page, half an answer, wrong counts or a cut body"
    case .diskFull: "every write finds the disk full, for a while"
    case .failedSync: "an fdatasync of the log fails, and some of the sinks'"
    case .shortWrite: "a write to the log fails half way"
    case .slowSync: "every fdatasync takes long, for a while"
    case .readError: "reads of the log and of the sinks' files fail with EIO"
    case .clock: "the wall clock is stepped, forwards or backwards"
    case .truncate: "a segment of the log is cut short while the relay is stopped"
    case .flip: "a bit of a segment of the log is flipped while the relay is stopped"
    case .cursor: "an older copy of a destination's position is put back while the relay is stopped"
    }
  }

  /// Where it is done: the two sides take turns by themselves, so that faults of both meet.
  enum Side: Sendable, CaseIterable {
    /// The others on the network.
    case peers
    /// The relay's process, its disk and its clock.
    case relay
  }

  var side: Side {
    switch self {
    case .reset, .stall, .error, .limit, .lie: .peers
    default: .relay
    }
  }

  /// Those after which what the upstream has is sent again, as surely as they happen.
  var repeatsEvents: Bool {
    switch self {
    case .reset, .stall, .error, .lie: true
    default: false
    }
  }
}
