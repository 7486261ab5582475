import Clocks
import Observability
import Synchronization

/// Knows which app a sender's key belongs to, and which key an app's events go upstream with.
///
/// With keys `any`, a key that no app lists makes an app of its own. Waiting events carry their app and not their key, so such a key is on stable
/// storage before its first event is let in, and stays there as long as something may wait for it.
public final class AppRegistry: Sendable {
  /// Apps made by senders' keys.
  public static let ownAppsMax = 1000
  /// After so long without a request an app made by a key is forgotten, unless something waits.
  public static let idleMax: Duration = .seconds(24 * 3600)

  struct State: Sendable {
    var directory: AppDirectory
    var own = KeyTable<OwnApp>()
    var ownByName: [String: OwnApp] = [:]

    mutating func add(_ app: OwnApp) {
      own[app.key] = app
      ownByName[app.app.name] = app
    }

    mutating func remove(_ app: OwnApp) {
      own[app.key] = nil
      ownByName[app.app.name] = nil
    }
  }

  /// Held for a look-up or a change, never during a call to the disk.
  let state: Mutex<State>
  /// Held while the file is written, so that one change follows the other. Taken before ``state``, never the other way round.
  let writing = Mutex(())
  let storage: KeyStorage
  let clock: WallClock
  let logger: Logger

  /// Makes a registry of the configured apps and of those whose keys the file holds.
  ///
  /// - Parameter storage: path of the keys' file; nil keeps them in memory only.
  /// - Throws: ``AppsError`` when the apps contradict each other, or the file can't be read or is of a newer version.
  public init(
    apps: [AppDefinition], mode: KeyMode, storage: String?, clock: WallClock = .system, logger: Logger
  ) throws(AppsError) {
    var state = State(directory: try AppDirectory(apps: apps, mode: mode))
    self.storage = KeyStorage(path: storage)
    let now = clock.now
    for line in try self.storage.load(now: now, logger: logger) {
      state.add(OwnApp(name: line.app, key: line.key, now: now))
    }
    self.state = Mutex(state)
    self.clock = clock
    self.logger = logger
  }

  /// Puts other apps in the place of the configured ones, at once for every request that follows. Those made by keys stay.
  ///
  /// - Throws: ``AppsError`` when the apps contradict each other; then nothing changes.
  public func replace(apps: [AppDefinition], mode: KeyMode) throws(AppsError) {
    let directory = try AppDirectory(apps: apps, mode: mode)
    state.withLock { $0.directory = directory }
  }

  /// The key that an app's events go upstream with at this moment. Nil when the app is gone or has none: its events are held.
  ///
  /// An app without a write key passes on the first of the keys that it accepts.
  public func upstreamKey(ofApp name: String) -> String? {
    state.withLock { state in
      state.directory.has(name) ? state.directory.upstreamKey(of: name) : state.ownByName[name]?.key
    }
  }

  /// The number of the protocol that an app speaks; nil for one that isn't known.
  public func dialect(ofApp name: String) -> UInt8? {
    state.withLock { state in state.directory.dialect(of: name) ?? state.ownByName[name].map { $0.app.dialect } }
  }

  /// The names of all apps, the configured ones first.
  public var names: [String] {
    state.withLock { state in
      state.directory.names + state.ownByName.keys.filter { !state.directory.has($0) }.sorted()
    }
  }

  /// What metrics call an app: its name when it is configured, else `other`.
  public func metricLabel(ofApp name: String) -> String {
    state.withLock { $0.directory.has(name) } ? name : OwnApp.metricLabel
  }

  /// What stands for a key in logs: the first 8 hex digits of its SHA-256.
  public static func fingerprint(of key: String) -> String { String(KeyRules.digest(of: key).prefix(8)) }
}
