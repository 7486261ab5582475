import Synchronization

/// The upstreams' configuration, which may change while the relay runs.
final class UpstreamSettings: Sendable {
  private let value: Mutex<Upstreams>

  init(_ upstreams: Upstreams) { value = Mutex(upstreams) }

  var current: Upstreams { value.withLock { $0 } }

  func set(_ upstreams: Upstreams) { value.withLock { $0 = upstreams } }

  /// That of an app.
  func configuration(of app: String) -> UpstreamConfiguration { value.withLock { $0[app] } }
}
