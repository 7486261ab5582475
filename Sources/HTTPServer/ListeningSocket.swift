import Glibc

/// A socket that listens. Closed, and its file removed, when it goes away.
final class ListeningSocket {
  let descriptor: Int32
  /// With the port that was taken.
  let address: ListenAddress
  /// A unix socket's file, by which its own is told from one that came later.
  private let file: (device: dev_t, inode: ino_t)?

  private init(descriptor: Int32, address: ListenAddress, file: (device: dev_t, inode: ino_t)? = nil) {
    self.descriptor = descriptor
    self.address = address
    self.file = file
  }

  deinit {
    close(descriptor)
    if let file, case .unix(let path) = address {
      var status = stat()
      if lstat(path, &status) == 0, status.st_dev == file.device, status.st_ino == file.inode { unlink(path) }
    }
  }

  private static let backlog: Int32 = 1024

  // MARK: TCP

  /// Binds a TCP address; a name may stand for several.
  static func tcp(_ address: ListenAddress, host: String, port: Int) throws(HTTPServerError) -> [ListeningSocket] {
    guard (0...65535).contains(port) else {
      throw HTTPServerError(address, .other, "the port must be 0 to 65535")
    }
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &found)
    guard status == 0, let found else {
      throw HTTPServerError(
        address, .unresolvable,
        "\"\(host)\" is no address of this machine (\(String(cString: gai_strerror(status)))); use an IP address")
    }
    defer { freeaddrinfo(found) }
    var bound: [ListeningSocket] = []
    var failure: HTTPServerError?
    var next: UnsafeMutablePointer<addrinfo>? = found
    while let info = next?.pointee {
      next = info.ai_next
      do throws(HTTPServerError) {
        bound.append(try tcp(address, info))
      } catch {
        // A name's second address may be of a family that this machine hasn't.
        guard error.reason == .notAvailable else { throw error }
        failure = failure ?? error
      }
    }
    if bound.isEmpty, let failure { throw failure }
    return bound
  }

  private static func tcp(_ address: ListenAddress, _ info: addrinfo) throws(HTTPServerError) -> ListeningSocket {
    let descriptor = try open(address, info.ai_family)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
    if info.ai_family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
    guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, backlog) == 0 else {
      let error = HTTPServerError(address, errno: errno)
      close(descriptor)
      throw error
    }
    return ListeningSocket(descriptor: descriptor, address: boundAddress(descriptor) ?? address)
  }

  private static func open(_ address: ListenAddress, _ family: Int32) throws(HTTPServerError) -> Int32 {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(family, Int32(kind), 0)
    guard descriptor >= 0 else { throw HTTPServerError(address, errno: errno) }
    return descriptor
  }

  /// The address and port that the kernel gave.
  private static func boundAddress(_ descriptor: Int32) -> ListenAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        guard getsockname(descriptor, generic, &length) == 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST + NI_MAXSERV)) { text in
          let host = text.baseAddress!
          let port = host + Int(NI_MAXHOST)
          let flags = NI_NUMERICHOST | NI_NUMERICSERV
          guard getnameinfo(generic, length, host, socklen_t(NI_MAXHOST), port, socklen_t(NI_MAXSERV), flags) == 0
          else { return nil }
          return .tcp(host: String(cString: host), port: Int(String(cString: port)) ?? 0)
        }
      }
    }
  }

  // MARK: Unix

  /// Binds a unix socket. A file that a dead process left is replaced.
  static func unix(_ address: ListenAddress, path: String, mode: UInt32) throws(HTTPServerError) -> ListeningSocket {
    var target = sockaddr_un()
    let room = MemoryLayout.size(ofValue: target.sun_path) - 1
    guard !path.isEmpty, path.utf8.count <= room, !path.utf8.contains(0) else {
      throw HTTPServerError(
        address, .pathTooLong,
        "a unix socket's path has 1 to \(room) bytes, this one \(path.utf8.count); use a shorter one")
    }
    target.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: path.utf8) }
    try removeStale(address, path, &target)
    let descriptor = try open(address, AF_UNIX)
    // Linux makes the file with the socket's own permissions: it is never open to more than it should be.
    fchmod(descriptor, mode_t(mode))
    var status = stat()
    guard withSocketAddress(&target, { bind(descriptor, $0, $1) }) == 0, chmod(path, mode_t(mode)) == 0,
      listen(descriptor, backlog) == 0, lstat(path, &status) == 0
    else {
      let error = HTTPServerError(address, errno: errno)
      close(descriptor)
      throw error
    }
    return ListeningSocket(descriptor: descriptor, address: address, file: (status.st_dev, status.st_ino))
  }

  private static func removeStale(_ address: ListenAddress, _ path: String, _ target: inout sockaddr_un)
    throws(HTTPServerError)
  {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw HTTPServerError(address, .notASocket, "a file that is no socket is there; move it away or use another path")
    }
    let probe = try open(address, AF_UNIX)
    defer { close(probe) }
    // EAGAIN: it listens, and more wait than it lets.
    if withSocketAddress(&target, { connect(probe, $0, $1) }) == 0 || errno == EAGAIN {
      throw HTTPServerError(address, .inUse, "another process listens there; stop it or use another path")
    }
    guard errno == ECONNREFUSED, unlink(path) == 0 || errno == ENOENT else {
      throw HTTPServerError(address, errno: errno)
    }
  }

  private static func withSocketAddress(
    _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

extension HTTPServerError {
  fileprivate init(_ address: ListenAddress, errno code: Int32) {
    let said = String(cString: strerror(code))
    switch code {
    case EADDRINUSE:
      self.init(address, .inUse, "the address is in use; stop what listens there or use another port")
    case EACCES, EPERM:
      self.init(
        address, .noPermission,
        "no permission; ports below 1024 need a privilege (CAP_NET_BIND_SERVICE), a unix socket a directory that this user may write to"
      )
    case EADDRNOTAVAIL, EAFNOSUPPORT:
      self.init(address, .notAvailable, "this machine has no such address (\(said)); `ip addr` lists those it has")
    case ENOENT, ENOTDIR:
      self.init(address, .noDirectory, "the directory isn't there; make it first")
    case EMFILE, ENFILE:
      self.init(address, .other, "\(said); raise the limit of open files (ulimit -n)")
    default: self.init(address, .other, said)
    }
  }
}
