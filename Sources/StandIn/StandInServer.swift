import HTTPServer
import Observability
import Synchronization

/// A stand-in for vendors' APIs: obeys the protocols that its configuration names, all on a port of its own.
///
/// Each protocol's routes answer as its dialect says: every rule, duplicates by the event's id under each key, clamping, the
/// limits a minute, the month's quota, 500 event names a key, as far as the protocol has them.
/// `GET /events?offset=&limit=&format=` lists what was stored with the events' bytes as they came (a context's unlisted keys
/// and the country, which the App Store Operator API drops and adds, are left as they are), and `GET /stats` counts. With a
/// data directory all but the rate limits survives a restart.
public final class StandInServer: Sendable {
  private let configuration: StandInConfiguration
  private let logger: Logger
  private let server = Mutex<HTTPServer?>(nil)

  public init(_ configuration: StandInConfiguration, logger: Logger) {
    self.configuration = configuration
    self.logger = logger
  }

  /// Reads what an earlier life stored, and begins to serve. Called once.
  public func start() throws(StandInError) {
    let core = try StandInCore(configuration, logger: logger)
    let server = HTTPServer(
      HTTPServerConfiguration(listen: [configuration.listen]), handler: StandInHandler(core: core), logger: logger)
    do throws(HTTPServerError) {
      try server.start()
    } catch {
      throw StandInError(error.description)
    }
    self.server.withLock { $0 = server }
  }

  /// Where it listens, with the port that was taken; nil before it is started.
  public var address: ListenAddress? { server.withLock { $0 }?.addresses.first }

  /// The base URL for clients, `http://127.0.0.1:9100`; nil before it is started and for a unix socket.
  public var url: String? {
    guard case .tcp? = address else { return nil }
    return address.map { "http://\($0)" }
  }

  /// Stops: answers what is in flight until the deadline, then cuts.
  public func stop(until deadline: ContinuousClock.Instant = .now + .seconds(1)) async {
    await server.withLock { $0 }?.stop(until: deadline)
  }
}
