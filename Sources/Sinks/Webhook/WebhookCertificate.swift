import CCrypto
import Configuration
import HTTPClient

/// What a webhook shows of itself to a receiver that asks: a certificate and its key.
struct WebhookCertificate: Sendable, Equatable {
  var certificate: PEMFile
  var key: PEMFile

  /// Why the two can't be used together, and which key of the configuration to look at; nil when they can.
  var fault: (key: String, message: String)? {
    let code = certificate.bytes.withUnsafeBytes { certificate in
      key.bytes.withUnsafeBytes { key in
        crypto_pem_pair(certificate.baseAddress, certificate.count, key.baseAddress, key.count)
      }
    }
    switch code {
    case 0: return nil
    case 1: return ("certificate", "\(certificate.path) holds no certificate that can be read; is it whole?")
    case 2: return ("key", "\(key.path) holds no private key that can be read; is it whole, and without a passphrase?")
    default:
      return ("key", "\(key.path) is not the key of the certificate in \(certificate.path); give both of one pair")
    }
  }

  /// As the client takes it.
  var shown: ClientCertificate {
    ClientCertificate(certificate: PEMSource(certificate.bytes), key: PEMSource(key.bytes))
  }
}
