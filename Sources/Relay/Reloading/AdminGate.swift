import EventsAPI
import HTTPServer
import Synchronization

/// Who may ask the admin listener at this moment: its token, hosts and authorities may change while it listens, all at once
/// and for every request, also of a connection that is open.
final class AdminGate: Sendable {
  private let access: Mutex<AdminAccess>

  init(_ access: AdminAccess) { self.access = Mutex(access) }

  func change(_ access: AdminAccess) { self.access.withLock { $0 = access } }

  /// Why a request is refused; nil when it isn't.
  func refusal(of exchange: any HTTPExchange) -> APIError? {
    access.withLock { $0 }.refusal(
      host: exchange.header("Host"), authorization: exchange.header("Authorization"), path: exchange.path,
      authorities: exchange.clientAuthorities)
  }
}
