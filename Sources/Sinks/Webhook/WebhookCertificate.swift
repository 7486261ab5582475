import Configuration
import HTTPClient

/// What a webhook shows of itself to a receiver that asks: a certificate and its key.
struct WebhookCertificate: Sendable, Equatable {
  var certificate: PEMFile
  var key: PEMFile

  /// As the client takes it.
  var shown: ClientCertificate {
    ClientCertificate(certificate: PEMSource(certificate.bytes), key: PEMSource(key.bytes))
  }
}
