import CTLS

/// What a listener shows and whom it lets in over TLS: a certificate with its key, and the authorities of clients.
///
/// Unchecked because nothing changes the library's object once it is made, and it lets many threads use it then.
public final class TLSIdentity: @unchecked Sendable {
  /// The files' contents, PEM.
  public struct Parts: Sendable {
    /// The certificate, and those between it and its authority behind it.
    public var certificate: [UInt8]
    /// Without a passphrase.
    public var key: [UInt8]
    /// Clients must show a certificate from one of these; nil: none is asked for.
    public var clientAuthorities: [UInt8]?
    /// A client with the server's own certificate and key is let in too.
    public var takesOwnCertificate: Bool

    public init(
      certificate: [UInt8], key: [UInt8], clientAuthorities: [UInt8]? = nil, takesOwnCertificate: Bool = false
    ) {
      self.certificate = certificate
      self.key = key
      self.clientAuthorities = clientAuthorities
      self.takesOwnCertificate = takesOwnCertificate
    }
  }

  /// Why no identity can be made of what the files hold.
  public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Part: Sendable, Equatable { case certificate, clientAuthorities, other }
    public var part: Part
    /// What is wrong, in the library's words.
    public var description: String
  }

  let handle: OpaquePointer
  /// See ``Parts/clientAuthorities``.
  let clientAuthorities: [UInt8]?

  /// - Throws: ``Failure`` when TLS can't be spoken with these.
  public init(_ parts: Parts) throws(Failure) {
    var part: Int32 = 0
    var words: UnsafePointer<CChar>?
    let made = parts.certificate.withUnsafeBytes { certificate in
      parts.key.withUnsafeBytes { key in
        (parts.clientAuthorities ?? []).withUnsafeBytes { authorities in
          var given = tls_parts(
            certificate: certificate.baseAddress, certificate_length: certificate.count, key: key.baseAddress,
            key_length: key.count, authorities: nil, authorities_length: authorities.count,
            accepts_own: parts.takesOwnCertificate ? 1 : 0)
          // (An empty array has no address, and no authorities at all is another thing than none asked for.)
          if parts.clientAuthorities != nil {
            given.authorities = authorities.baseAddress ?? UnsafeRawPointer(Self.nothing)
          }
          return tls_identity_new(&given, &part, &words)
        }
      }
    }
    guard let made else {
      throw Failure(
        part: part == 1 ? .certificate : part == 2 ? .clientAuthorities : .other,
        description: words.map { String(cString: $0) } ?? "unknown")
    }
    handle = made
    clientAuthorities = parts.clientAuthorities
  }

  // Never written to and never freed.
  private nonisolated(unsafe) static let nothing = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

  deinit { tls_identity_free(handle) }
}
