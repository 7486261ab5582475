import Observability
import Synchronization

/// What all listeners of a server have in common.
final class ServerShared: Sendable {
  let configuration: HTTPServerConfiguration
  let handler: any HTTPHandler
  let logger: Logger
  let budget: MemoryBudget
  private let open = Atomic<Int>(0)
  private let unsecured = Atomic<Int>(0)
  /// Connections at once; may be changed.
  private let connectionsMax: Atomic<Int>

  init(_ configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger) {
    self.configuration = configuration
    self.handler = handler
    self.logger = logger
    budget = MemoryBudget(limit: configuration.maxBodyMemory)
    connectionsMax = Atomic(configuration.maxConnections)
  }

  var connections: Int { open.load(ordering: .relaxed) }

  var failedHandshakes: Int { unsecured.load(ordering: .relaxed) }

  /// Counts a connection that has ended before its TLS handshake.
  func handshakeFailed() { unsecured.wrappingAdd(1, ordering: .relaxed) }

  var hasRoom: Bool { connections < connectionsMax.load(ordering: .relaxed) }

  func setConnectionsMax(_ count: Int) { connectionsMax.store(count, ordering: .relaxed) }

  /// Counts a connection; false when it is one too many, which is counted all the same until it is closed.
  func connectionOpened() -> Bool {
    open.wrappingAdd(1, ordering: .relaxed).newValue <= connectionsMax.load(ordering: .relaxed)
  }

  func connectionClosed() { open.wrappingSubtract(1, ordering: .relaxed) }
}
