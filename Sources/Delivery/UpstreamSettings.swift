import Synchronization

/// The upstream's configuration, which may change while the relay runs.
final class UpstreamSettings: Sendable {
  private let value: Mutex<UpstreamConfiguration>

  init(_ configuration: UpstreamConfiguration) { value = Mutex(configuration) }

  var current: UpstreamConfiguration { value.withLock { $0 } }

  func set(_ configuration: UpstreamConfiguration) { value.withLock { $0 = configuration } }
}
