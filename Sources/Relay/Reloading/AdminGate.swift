import EventsAPI
import Synchronization

/// Who may ask the admin listener at this moment: its token and hosts may change while it listens.
final class AdminGate: Sendable {
  private let access: Mutex<AdminAccess>

  init(_ access: AdminAccess) { self.access = Mutex(access) }

  func change(_ access: AdminAccess) { self.access.withLock { $0 = access } }

  /// Why a request is refused; nil when it isn't.
  func refusal(host: String?, authorization: String?, path: String) -> APIError? {
    access.withLock { $0 }.refusal(host: host, authorization: authorization, path: path)
  }
}
