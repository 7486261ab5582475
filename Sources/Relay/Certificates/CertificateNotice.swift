import Clocks
import Configuration

/// Decides when to speak of a certificate that ends: from 14 days before its end on, once a day.
struct CertificateNotice: Sendable, Equatable {
  static let interval: Duration = .seconds(86_400)

  private var last: Timestamp?

  /// Whether it is to be spoken of now, which then counts as done.
  mutating func isDue(expires: Timestamp, now: Timestamp) -> Bool {
    guard expires <= now + RelayConfiguration.TLS.expiryNotice else { return false }
    // (A clock that was set back must not silence it.)
    if let last, now >= last, now - last < Self.interval { return false }
    last = now
    return true
  }
}
