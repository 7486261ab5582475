import Observability
import Synchronization

/// What all listeners of a server have in common.
final class ServerShared: Sendable {
  let configuration: HTTPServerConfiguration
  let handler: any HTTPHandler
  let logger: Logger
  let budget: MemoryBudget
  let refusals: ConnectionRefusals
  private let book: Mutex<ConnectionBook>
  private let unsecured = Atomic<Int>(0)
  /// Of all listeners.
  private let mailboxes = Mutex<[Mailbox]>([])

  init(_ configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger) {
    self.configuration = configuration
    self.handler = handler
    self.logger = logger
    budget = MemoryBudget(limit: configuration.maxBodyMemory)
    refusals = ConnectionRefusals(logger: logger)
    book = Mutex(
      ConnectionBook(limit: configuration.maxConnections, perAddress: configuration.maxConnectionsPerAddress))
  }

  var connections: Int { book.withLock { $0.count } }

  /// There are as many connections as there may be.
  var isFull: Bool { book.withLock { $0.count >= $0.limit } }

  func setMailboxes(_ mailboxes: [Mailbox]) { self.mailboxes.withLock { $0 = mailboxes } }

  /// Has connections of the other listeners make way, for who comes again after being refused.
  func makeWayElsewhere(than own: Mailbox, places: Int) {
    for mailbox in mailboxes.withLock({ $0 }) where mailbox !== own { mailbox.post(.makeWay(places: places)) }
  }

  var failedHandshakes: Int { unsecured.load(ordering: .relaxed) }

  /// Counts a connection that has ended before its TLS handshake.
  func handshakeFailed() { unsecured.wrappingAdd(1, ordering: .relaxed) }

  /// Takes other limits of connections and memory; what is open stays.
  func setLimits(_ configuration: HTTPServerConfiguration) {
    budget.setLimit(configuration.maxBodyMemory)
    book.withLock { $0.setLimits(configuration.maxConnections, perAddress: configuration.maxConnectionsPerAddress) }
  }

  /// Whether a connection may be taken. Then it is to be counted at once, since other listeners take connections too.
  func admit(_ peer: PeerNetwork?) -> ConnectionBook.Verdict {
    book.withLock { book in
      let verdict = book.verdict(on: peer)
      if verdict == .taken { book.opened(peer) }
      return verdict
    }
  }

  /// Counts a connection for which another one makes way.
  func connectionDisplaces(_ peer: PeerNetwork?) { book.withLock { $0.opened(peer) } }

  func connectionClosed(_ peer: PeerNetwork?) { book.withLock { $0.closed(peer) } }
}
