import Clocks
import Configuration
import HTTPServer
import JSON
import Observability
import Synchronization

/// What the listeners speak TLS with at this moment.
final class Certificates: Sendable {
  private struct State {
    var shown: [Door: RelayConfiguration.TLS] = [:]
    /// Made ready by ``prepare(_:)``, and not in use yet.
    var prepared: [Door: (tls: RelayConfiguration.TLS, identity: TLSIdentity)] = [:]
    var servers: [Door: HTTPServer] = [:]
    var notices: [Door: CertificateNotice] = [:]
  }

  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  /// What a listener begins with; nil when it has no TLS.
  /// - Throws: ``RelayError`` when the library can't use the files.
  func identity(_ tls: RelayConfiguration.TLS?, of door: Door) throws(RelayError) -> TLSIdentity? {
    guard let tls else { return nil }
    let identity = try TLSIdentity(tls, of: door)
    state.withLock { $0.shown[door] = tls }
    return identity
  }

  /// Tells which server a listener is: the one that ``take(_:)`` gives other certificates.
  func attach(_ server: HTTPServer, to door: Door) { state.withLock { $0.servers[door] = server } }

  /// Makes ready what a changed configuration has for the listeners that speak TLS already; nothing is in use yet.
  /// - Throws: ``RelayError`` when the library can't use the files: nothing is to be changed then.
  func prepare(_ configuration: RelayConfiguration) throws(RelayError) {
    let shown = state.withLock { state in
      state.prepared = [:]
      return state.shown
    }
    for door in Door.allCases {
      guard let old = shown[door], let new = configuration.tls(of: door), new != old else { continue }
      let identity = try TLSIdentity(new, of: door)
      state.withLock { $0.prepared[door] = (new, identity) }
    }
  }

  /// Takes what was made ready for a listener into use, for connections that are opened from now on; whether there was
  /// anything.
  func take(_ door: Door) -> Bool {
    state.withLock { state in
      guard let (tls, identity) = state.prepared.removeValue(forKey: door), let server = state.servers[door] else {
        return false
      }
      state.shown[door] = tls
      state.notices[door] = nil
      server.setIdentity(identity)
      return true
    }
  }

  func shown(by door: Door) -> RelayConfiguration.TLS? { state.withLock { $0.shown[door] } }

  /// Says in the log which certificates end soon: to be called now and then, it says so once a day of each.
  func checkEnds(at now: Timestamp) {
    for door in Door.allCases {
      guard let tls = shown(by: door), let expires = tls.facts?.expires else { continue }
      let isDue = state.withLock { $0.notices[door, default: CertificateNotice()].isDue(expires: expires, now: now) }
      guard isDue else { continue }
      logger.warning(
        expires <= now ? "a certificate has ended: clients refuse it" : "a certificate ends in less than 14 days",
        [
          "listener": .text(door.rawValue), "file": .text(tls.certificate.path), "ends": .text(expires.description),
        ])
    }
  }

  // MARK: Told

  /// A listener's part of the status; nil when it speaks plain HTTP.
  func status(of door: Door) -> JSONValue? {
    let (tls, server) = state.withLock { ($0.shown[door], $0.servers[door]) }
    guard let tls else { return nil }
    return [
      "certificate_expires_at": JSONValue(tls.facts?.expires.description),
      "client_certificates": .bool(tls.clientCA != nil),
      "failed_handshakes": JSONValue(server?.failedHandshakes ?? 0),
    ]
  }

  func register(in metrics: MetricsRegistry) {
    metrics.family(
      "event_relay_tls_certificate_expiry_seconds",
      "When the first certificate ends of those that a listener shows, in seconds since 1970.", type: "gauge"
    ) { [self] in
      Door.allCases.compactMap { door in
        shown(by: door)?.facts.map { ([("listener", door.rawValue)], Double($0.expires.milliseconds) / 1000) }
      }
    }
    metrics.family(
      "event_relay_tls_failed_handshakes_total", "Connections that ended before their TLS handshake was done.",
      type: "counter"
    ) { [self] in
      let servers = state.withLock { state in state.servers.filter { state.shown[$0.key] != nil } }
      return Door.allCases.compactMap { door in
        servers[door].map { ([("listener", door.rawValue)], Double($0.failedHandshakes)) }
      }
    }
  }
}

extension RelayConfiguration {
  func tls(of door: Door) -> TLS? {
    switch door {
    case .ingest: ingest.tls
    case .admin: admin.tls
    }
  }
}

extension TLSIdentity {
  /// - Throws: ``RelayError``, which names the file and what the library says of it.
  convenience init(_ tls: RelayConfiguration.TLS, of door: Door) throws(RelayError) {
    do throws(Failure) {
      try self.init(Parts(tls, of: door))
    } catch {
      let file = error.part == .clientAuthorities ? tls.clientCA?.path : tls.certificate.path
      throw RelayError("\(door).tls: \(file ?? "?") can't be used for TLS: \(error); make it anew")
    }
  }
}

extension TLSIdentity.Parts {
  init(_ tls: RelayConfiguration.TLS, of door: Door) {
    self.init(
      certificate: tls.certificate.bytes, key: tls.key.bytes, clientAuthorities: tls.clientCA?.bytes,
      // The commands on this machine show the relay's own: who can read its key may ask it.
      takesOwnCertificate: door == .admin)
  }
}
