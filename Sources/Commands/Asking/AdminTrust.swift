import Configuration
import HTTPClient

/// How a command and a relay whose admin listener speaks TLS know each other: by the files that the configuration names.
///
/// The command takes the relay by its public key, which is in the certificate's file, or in the data directory of one that
/// runs with an older file. So a name that the certificate hasn't, its authority and its end don't matter. Where the relay
/// asks for a certificate, the command shows the relay's own.
struct AdminTrust: Sendable {
  /// Public keys that the relay may have.
  let keys: [String]
  let certificate: ClientCertificate?
  /// What this user couldn't read, for a failure's message; nil when there was nothing.
  let unreadable: String?

  /// - Parameter running: the keys that running relays have left in their data directories.
  init(_ tls: RelayConfiguration.TLS, running: [String]) {
    let shown = tls.certificate.contents
    let own = shown.flatMap { CertificateFacts(pem: $0)?.keyPin }
    keys = running + [own].compactMap { $0 }.filter { !running.contains($0) }
    var unreadable = shown == nil ? Self.shown(tls.certificate, "certificate") : nil
    var certificate: ClientCertificate?
    if tls.clientCA != nil, let shown {
      if let key = tls.key.contents {
        certificate = ClientCertificate(certificate: PEMSource(shown), key: PEMSource(key))
      } else {
        unreadable = Self.shown(tls.key, "key")
      }
    }
    self.certificate = certificate
    self.unreadable = unreadable
  }

  /// A file's path, or the key that names it where a variable in it isn't set here.
  private static func shown(_ file: PEMFile, _ key: String) -> String {
    file.path.isEmpty ? "the file of admin.tls.\(key), whose path has a variable that isn't set here" : file.path
  }
}
