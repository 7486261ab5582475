import CCrypto

/// A certificate and a private key that should belong together.
public struct PEMPair {
  public let certificate, key: PEMFile

  public init(certificate: PEMFile, key: PEMFile) {
    self.certificate = certificate
    self.key = key
  }

  /// Why the two can't be used together, and which key of the configuration to look at; nil when they can.
  public var fault: (key: String, message: String)? {
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
}
