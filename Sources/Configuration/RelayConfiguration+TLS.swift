import Clocks
import Glibc

extension RelayConfiguration {
  /// What a listener speaks TLS with.
  public struct TLS: Sendable, Equatable {
    /// The certificate, and those between it and its authority behind it.
    public var certificate: PEMFile
    public var key: PEMFile
    /// The authorities of clients' certificates; nil: clients need none.
    public var clientCA: PEMFile?
    /// What the certificate's file says of itself; nil for one who only looks for the relay.
    public var facts: CertificateFacts?

    public init(certificate: PEMFile, key: PEMFile, clientCA: PEMFile? = nil, facts: CertificateFacts? = nil) {
      self.certificate = certificate
      self.key = key
      self.clientCA = clientCA
      self.facts = facts
    }

    /// How long before a certificate's end it is spoken of.
    public static let expiryNotice: Duration = .days(14)
  }
}

extension RelayConfiguration.TLS {
  /// A listener's `tls`; nil when there is none, or a faulty one.
  ///
  /// - Parameter listen: where the listener binds.
  static func read(_ section: Section, _ listen: [RelayConfiguration.Address]) -> RelayConfiguration.TLS? {
    var certificate, key, clientCA: PEMFile?
    section.readCertificates("certificate", into: &certificate)
    section.readKey("key", into: &key)
    section.readCertificates("client_ca", into: &clientCA)
    section.finish()
    guard ["certificate", "key", "client_ca"].contains(where: section.hasValue) else { return nil }
    // One who only looks for the relay has read nothing, and may not know the variables in a path: that TLS is spoken counts.
    if section.findings.isForAsking {
      let unknown = PEMFile(path: "", bytes: [])
      return RelayConfiguration.TLS(
        certificate: certificate ?? unknown, key: key ?? unknown,
        clientCA: section.hasValue("client_ca") ? clientCA ?? unknown : nil)
    }
    for name in ["certificate", "key"] where !section.hasValue(name) {
      section.fault(name, "is missing; it should be the path of a PEM file: TLS takes both certificate and key")
    }
    guard let certificate, let key, section.isSound else { return nil }
    var tls = RelayConfiguration.TLS(certificate: certificate, key: key, clientCA: clientCA)
    tls.examine(section, now: WallClock.system.now)
    let sockets = listen.filter { if case .unix = $0 { true } else { false } }
    if sockets.count == listen.count {
      section.warn(
        "certificate",
        "has no effect: \(sockets[0]) is a unix socket, whose permissions say who may connect; TLS is for host:port")
    }
    return section.isSound ? tls : nil
  }

  /// Looks into the files: what is wrong, and what soon will be.
  private mutating func examine(_ section: Section, now: Timestamp) {
    if let fault = PEMPair(certificate: certificate, key: key).fault { return section.fault(fault.key, fault.message) }
    guard let facts = CertificateFacts(pem: certificate.bytes) else {
      return section.fault(
        "certificate", "\(certificate.path) holds a certificate that can't be read, behind the first; is it whole?")
    }
    self.facts = facts
    Self.judge(facts, certificate, section, "certificate", now: now)
    if let mode = Self.mode(of: key.path), mode & 0o027 != 0 {
      section.warn(
        "key",
        "others than its owner and group may use \(key.path) (0\(String(mode & 0o777, radix: 8))), which is as good as "
          + "the certificate itself; chmod 600, or 640 for a group that may read it")
    }
    guard let clientCA else { return }
    guard let authorities = CertificateFacts(pem: clientCA.bytes) else {
      return section.fault("client_ca", "\(clientCA.path) holds a certificate that can't be read; is it whole?")
    }
    Self.judge(authorities, clientCA, section, "client_ca", now: now)
  }

  private static func judge(
    _ facts: CertificateFacts, _ file: PEMFile, _ section: Section, _ key: String, now: Timestamp
  ) {
    let subject = "a certificate in \(file.path)"
    if facts.expires <= now {
      section.warn(key, "\(subject) ended on \(facts.expires): nobody who looks trusts it; get a new one")
    } else if facts.expires <= now + expiryNotice {
      section.warn(key, "\(subject) ends on \(facts.expires), in less than 14 days; get a new one")
    } else if facts.begins > now {
      section.warn(key, "\(subject) begins on \(facts.begins) only; is the clock right?")
    }
  }

  private static func mode(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : nil
  }
}
