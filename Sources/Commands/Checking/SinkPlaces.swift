import Configuration
import Dispatch
import Glibc
import Synchronization

/// Looks whether the places that sinks write to can be used from here, without making or changing anything.
///
/// A start doesn't ask this: a sink whose place can't be used says so and heals by itself.
enum SinkPlaces {
  /// Names that are looked up take no longer than this together.
  static let lookupLimit: Duration = .seconds(3)

  /// Directories that can't be made or written.
  static func faults(_ configuration: RelayConfiguration, file: String) -> [ConfigurationFault] {
    configuration.sinks.compactMap { sink in
      sink.options.path.flatMap(fault).map {
        ConfigurationFault(file: file, line: sink.placeLine, key: sink.placeKey, message: $0)
      }
    }
  }

  /// What keeps a path's directory from being made or written, and what would be right.
  static func fault(_ path: String) -> String? {
    // What has a field in it is made as events come.
    var directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    if let field = directory.firstIndex(of: "%") {
      directory = String(directory[..<(directory[..<field].lastIndex(of: "/") ?? directory.startIndex)])
    }
    if directory.isEmpty { directory = "/" }
    while true {
      var facts = stat()
      if stat(directory, &facts) == 0 {
        guard facts.st_mode & S_IFMT == S_IFDIR else {
          return "\(directory) is no directory: move it away, or choose another path"
        }
        return access(directory, W_OK | X_OK) == 0 ? nil : cannotWrite(directory, errno)
      }
      let code = errno
      guard code == ENOENT || code == ENOTDIR, directory != "/" else { return cannotWrite(directory, code) }
      directory = String(directory[..<(directory.lastIndex(of: "/") ?? directory.startIndex)])
      if directory.isEmpty { directory = "/" }
    }
  }

  private static func cannotWrite(_ directory: String, _ code: Int32) -> String {
    let why = String(cString: strerror(code))
    let advice =
      code == EROFS
      ? "mount it writable, or choose another path"
      : "give the relay's user the right to do so, or choose another path (looked at as user id \(geteuid()))"
    return "\(directory) can't be written: \(why); \(advice)"
  }

  /// Hosts whose names nobody knows here: it may be otherwise where the relay runs.
  static func warnings(
    _ configuration: RelayConfiguration, file: String, environment: [String: String],
    isKnown: @escaping @Sendable (String) -> Bool = isKnown
  ) -> [ConfigurationFault] {
    // A proxy looks names up itself.
    let proxies = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
    guard proxies.allSatisfy({ environment[$0, default: ""].isEmpty }) else { return [] }
    let hosts = Set(configuration.sinks.compactMap(\.options.host))
    let unknown = unknown(hosts, isKnown)
    return configuration.sinks.compactMap { sink in
      guard let host = sink.options.host, unknown.contains(host) else { return nil }
      return ConfigurationFault(
        file: file, line: sink.placeLine, key: sink.placeKey,
        message: "no address is found for the host \(host) from here: its events wait until there is one")
    }
  }

  /// Asked for side by side, on threads of their own: a lookup can't be broken off.
  private static func unknown(_ hosts: Set<String>, _ isKnown: @escaping @Sendable (String) -> Bool) -> Set<String> {
    final class Answers: Sendable {
      let known = Mutex<Set<String>>([])
    }
    let answers = Answers()
    let done = DispatchSemaphore(value: 0)
    for host in hosts {
      Task {
        await WorkerThread.run { if isKnown(host) { answers.known.withLock { _ = $0.insert(host) } } }
        done.signal()
      }
    }
    let deadline = DispatchTime.now() + .nanoseconds(Int(lookupLimit / .nanoseconds(1)))
    for _ in hosts where done.wait(timeout: deadline) == .timedOut { break }
    return hosts.subtracting(answers.known.withLock { $0 })
  }

  /// Whether the system finds an address for a name; an address is one itself.
  static func isKnown(_ host: String) -> Bool {
    var found: UnsafeMutablePointer<addrinfo>?
    defer { if let found { freeaddrinfo(found) } }
    return getaddrinfo(host, nil, nil, &found) == 0
  }
}
