import Configuration
import Dispatch
import Glibc
import Sinks
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
      sink.options.path.flatMap(SinkPlace.fault).map {
        ConfigurationFault(file: file, line: sink.placeLine, key: sink.placeKey, message: $0)
      }
    }
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
