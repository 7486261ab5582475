extension Section {
  /// Reads the path of a PEM file of certificates, absolute afterwards; `~` for none. It is a fault when they can't be read.
  public func readCertificates(_ key: String, into target: inout PEMFile?) { readPEM(key, into: &target, .certificate) }

  /// Reads the path of a PEM file of a private key without a passphrase; else as ``readCertificates(_:into:)``.
  public func readKey(_ key: String, into target: inout PEMFile?) { readPEM(key, into: &target, .key) }

  private func readPEM(_ key: String, into target: inout PEMFile?, _ content: FileText.PEMContent) {
    var path = target?.path
    readOptional(key, into: &path, .path(relativeTo: directory))
    target = path.map { PEMFile(path: $0, bytes: []) }
    // (One who only looks for the relay may not be allowed to read what it reads.)
    guard let path, !findings.isForAsking else { return }
    findings.reads(path)
    switch FileText.readPEM(path, of: content) {
    case .success(let bytes): target?.bytes = bytes
    case .failure(let fault): self.fault(key, "\(findings.quoting.quote(path)): \(fault.message)")
    }
  }
}
