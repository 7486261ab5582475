extension Section {
  /// Reads the path of a PEM file of certificates, absolute afterwards; `~` for none. It is a fault when they can't be read.
  public func readCertificates(_ key: String, into target: inout String?) { readPEM(key, into: &target, .certificate) }

  /// Reads the path of a PEM file of a private key without a passphrase; else as ``readCertificates(_:into:)``.
  public func readKey(_ key: String, into target: inout String?) { readPEM(key, into: &target, .key) }

  private func readPEM(_ key: String, into target: inout String?, _ content: FileText.PEMContent) {
    readOptional(key, into: &target, .path(relativeTo: directory))
    // (One who only looks for the relay may not be allowed to read what it reads.)
    guard let path = target, !findings.isForAsking, let fault = FileText.fault(inPEM: path, of: content) else { return }
    self.fault(key, "\(Quoting.quote(path)): \(fault.message)")
  }
}
