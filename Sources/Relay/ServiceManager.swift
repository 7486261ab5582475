import Glibc

/// Tells a service manager (systemd's `NOTIFY_SOCKET`) how the relay is. Without one, does nothing.
struct ServiceManager: Sendable {
  private let socketPath: String?
  /// How often the manager wants to hear that all is well, half its limit; nil when it doesn't.
  let watchdogInterval: Duration?

  init(environment: [String: String]) {
    socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    // A manager's limit may be meant for another process that passed its environment on.
    let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
    watchdogInterval = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { limit in
      limit > 1 && isMeant ? .microseconds(limit / 2) : nil
    }
  }

  func ready() { notify("READY=1") }
  func stopping() { notify("STOPPING=1") }
  func watchdog() { notify("WATCHDOG=1") }

  /// RELOADING wants the monotonic time, so that the manager can tell this reload's READY from an older one.
  func reloading() {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    notify("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)")
  }

  private func notify(_ state: String) {
    guard let socketPath, let first = socketPath.utf8.first else { return }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(socketPath.utf8)
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    // A leading @ stands for the zero byte of an abstract socket.
    if first == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let bytes = Array(state.utf8)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, length)
      }
    }
  }
}
