import Glibc

/// Reads small files whole.
enum FileText {
  struct Fault: Error, Equatable { var message: String }

  static var workingDirectory: String {
    guard let path = getcwd(nil, 0) else { return "/" }
    defer { free(path) }
    return String(cString: path)
  }

  /// A regular file's bytes, or why there are none: the reason and what to do.
  static func read(_ path: String, bytesMax: Int) -> Result<[UInt8], Fault> {
    // Not blocking, so that a pipe in the file's place doesn't hold the start for ever.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return .failure(Fault(message: reason(errno))) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return .failure(Fault(message: reason(errno))) }
    switch facts.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: return .failure(Fault(message: "is a directory; name the file in it"))
    default: return .failure(Fault(message: "is a pipe or a device, which can't be read again; name a regular file"))
    }
    var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count) }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { return .failure(Fault(message: reason(errno))) }
      if read == 0 { break }
      count += read
    }
    guard count <= bytesMax else {
      return .failure(Fault(message: "is larger than \(SizeText.exact(bytesMax)); is it the right file?"))
    }
    return .success(Array(bytes[..<count]))
  }

  /// Bytes of a file of certificates or a key.
  static let pemBytesMax = 8 << 20

  /// What a PEM file is to hold.
  enum PEMContent: String {
    case certificate, key

    fileprivate var mark: String { self == .key ? "PRIVATE KEY-----" : "CERTIFICATE-----" }
    fileprivate var opening: String { self == .key ? "-----BEGIN PRIVATE KEY-----" : "-----BEGIN CERTIFICATE-----" }
  }

  /// The bytes of a file of certificates, or of a key that needs no passphrase; why not, when it is none.
  static func readPEM(_ path: String, of content: PEMContent) -> Result<[UInt8], Fault> {
    switch read(path, bytesMax: pemBytesMax) {
    case .failure(let fault): return .failure(fault)
    case .success(let bytes):
      func holds(_ text: String) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }
      guard holds(content.mark) else {
        return .failure(
          Fault(message: "holds no \(content.rawValue); it should hold PEM, with a line \(content.opening)"))
      }
      guard content == .key, holds("ENCRYPTED") else { return .success(bytes) }
      return .failure(
        Fault(message: "is encrypted with a passphrase; give the key without one, in a file only the relay may read"))
    }
  }

  private static func reason(_ code: Int32) -> String {
    switch code {
    case ENOENT: "there is no such file; check the path"
    case EACCES: "may not be read by this user; change its permissions or its directory's"
    case ENOTDIR: "a part of the path is no directory; check the path"
    case ELOOP: "the symbolic links of this path go in a circle"
    case ENAMETOOLONG: "the path is too long"
    default: "can't be read: \(String(cString: strerror(code)))"
    }
  }
}
