import CMicrohttpd
import CTLS
import Glibc

/// A connection's TLS session: what is done about it past the library, on the listener's thread.
struct TLSSession {
  private let handle: UnsafeMutableRawPointer
  /// Must outlive the session.
  let identity: TLSIdentity

  /// Gives a new connection's session its certificate, before its handshake; nil when the library refuses.
  init?(of connection: OpaquePointer, _ identity: TLSIdentity) {
    guard let handle = mhd_session(connection), tls_session_begin(handle, identity.handle) != 0 else { return nil }
    tls_session_watch(handle)
    self.handle = handle
    self.identity = identity
  }

  var isSecured: Bool { tls_session_is_secured(handle) != 0 }

  /// Whether the client may be here: it has a certificate, or needs none. (The handshake has seen to it; this makes sure.)
  var isWelcome: Bool { identity.clientAuthorities == nil || tls_session_has_certificate(handle) != 0 }

  /// Whether bytes of the client's are decrypted and nobody has read them.
  var hasPending: Bool { tls_session_pending(handle) > 0 }

  /// Sends what goes at once; whether that is everything.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { tls_session_send(handle, $0.baseAddress, $0.count) } == bytes.count
  }

  /// Tells the client that nothing more comes.
  func end() { tls_session_end(handle) }
}
