import CMicrohttpd
import Glibc
import Observability
import Synchronization

/// An HTTP/1.1 server: TCP and unix sockets, one thread each, requests answered by a handler from any thread.
///
/// Bodies are decoded and bounded before the handler sees them; heads, bodies and idle connections have absolute
/// deadlines. A started server must be stopped with ``stop(until:)``.
public final class HTTPServer: Sendable {
  private struct State {
    var listeners: [RunningListener] = []
    var isStarted = false
  }

  private let shared: ServerShared
  private let state = Mutex(State())

  public init(_ configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger) {
    shared = ServerShared(configuration, handler: handler, logger: logger)
  }

  /// Binds every address and begins to serve; binds none when one of them can't be bound. Called once.
  ///
  /// - Throws: ``HTTPServerError``, which names the address, the reason and what to do.
  public func start() throws(HTTPServerError) {
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    precondition(isFirst, "a server is started once")
    Self.panicLogger.withLock { $0 = shared.logger }
    _ = Self.reportsPanics
    var sockets: [ListeningSocket] = []
    for address in shared.configuration.listen {
      switch address {
      case .tcp(let host, let port): sockets += try ListeningSocket.tcp(address, host: host, port: port)
      case .unix(let path):
        sockets.append(try ListeningSocket.unix(address, path: path, mode: shared.configuration.unixSocketMode))
      }
    }
    var made: [(ListenAddress, Listener)] = []
    for socket in sockets { made.append((socket.address, try Listener(socket, shared: shared))) }
    shared.setMailboxes(made.map(\.1.mailbox))
    var running: [RunningListener] = []
    do throws(HTTPServerError) {
      for (address, listener) in made { running.append(try RunningListener(address, listener)) }
    } catch {
      for listener in running { listener.mailbox.post(.stop(deadline: 0)) }
      throw error
    }
    state.withLock { $0.listeners = running }
  }

  /// Where it listens, with the ports that were taken; empty before it is started.
  public var addresses: [ListenAddress] { state.withLock { $0.listeners.map(\.address) } }

  /// Connections that are open now.
  public var connections: Int { shared.connections }

  /// Connections that were refused since the start, because there were as many as there may be, or as one address may have.
  public var refusedConnections: (full: Int, ofAddress: Int) {
    (shared.refusals.count(of: .full), shared.refusals.count(of: .address))
  }

  /// Idle and slow connections that made way for new ones since the start.
  public var displacedConnections: Int { shared.refusals.count(of: .displaced) }

  /// How often there was no file descriptor for a new connection, which had to wait.
  public var acceptFailures: Int { shared.refusals.count(of: .descriptors) }

  /// Takes other limits: those of connections and memory from now on, the timeouts for connections that are opened from now on. Nothing
  /// that is open is closed by it, and what the server listens on stays.
  public func setLimits(from configuration: HTTPServerConfiguration) {
    shared.setLimits(configuration)
    let limits = ConnectionTimer.Limits(configuration)
    for listener in state.withLock({ $0.listeners }) { listener.mailbox.post(.limit(limits)) }
  }

  /// Takes another certificate, key and authorities for connections that are opened from now on; those that are open keep
  /// what they began with. Only for a server that was started with an identity.
  public func setIdentity(_ identity: TLSIdentity) {
    precondition(shared.configuration.tls != nil, "a server that began without TLS stays so")
    for listener in state.withLock({ $0.listeners }) { listener.mailbox.post(.identify(identity)) }
  }

  /// Connections that ended before their TLS handshake was done: of clients that wouldn't trust the certificate, had none
  /// that is trusted here, spoke something else, or took too long.
  public var failedHandshakes: Int { shared.failedHandshakes }

  /// Takes no new connection any more; those that are open go on.
  public func stopAccepting() {
    for listener in state.withLock({ $0.listeners }) { listener.mailbox.post(.stopAccepting) }
  }

  /// Stops: closes idle connections at once, answers busy ones with `Connection: close`, and cuts what is left at the
  /// deadline. An answer given after that goes nowhere. May be called again, with an earlier deadline too.
  public func stop(until deadline: ContinuousClock.Instant) async {
    let left = (deadline - .now).components
    let nanoseconds = max(0, min(left.seconds, 1 << 32) * 1_000_000_000 + left.attoseconds / 1_000_000_000)
    let moment = monotonicNow() + UInt64(nanoseconds)
    let listeners = state.withLock { $0.listeners }
    for listener in listeners { listener.mailbox.post(.stop(deadline: moment)) }
    for listener in listeners { await listener.end() }
  }

  // MARK: Panics

  private static let panicLogger = Mutex<Logger?>(nil)

  /// The library ends the process when it finds itself in a state it can't go on from: not without a word.
  private static let reportsPanics: Void = mhd_set_panic { _, line, reason in
    let reason = reason.map { String(cString: $0) } ?? ""
    let logger = HTTPServer.panicLogger.withLock { $0 }
    logger?.error(
      "the HTTP library can't go on and ends the process", ["reason": .text(reason), "line": .integer(Int(line))])
  }
}
