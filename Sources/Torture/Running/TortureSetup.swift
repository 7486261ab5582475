import Glibc
import Records

/// A run's directory, and the configuration of the relay in it.
struct TortureSetup: Sendable {
  let directory: String
  let upstreamPort: UInt16
  let hookPort: UInt16

  var configuration: String { "\(directory)/relay.yaml" }
  var data: String { "\(directory)/data" }
  var events: String { "\(directory)/events" }
  var archive: String { "\(directory)/archive" }
  var deadLetters: String { "\(data)/dead-letters" }
  var relayLog: String { "\(directory)/relay.log" }
  var copies: String { "\(directory)/positions-before" }

  static let destinations = ["upstream", "raw", "audit", "hook"]

  /// Makes a directory that nobody had, in a parent.
  static func makeDirectory(in parent: String) throws(TortureError) -> String {
    do throws(FileError) {
      try FileSystem.system.makeDirectories(parent)
    } catch {
      throw TortureError("can't make \(parent): \(error)")
    }
    guard let whole = realpath(parent, nil) else {
      throw TortureError("can't use \(parent): \(String(cString: strerror(errno)))")
    }
    defer { free(whole) }
    var path = Array("\(String(cString: whole))/event-relay-torture-XXXXXX".utf8CString)
    guard mkdtemp(&path) != nil else {
      throw TortureError("can't make a directory in \(parent): \(String(cString: strerror(errno)))")
    }
    return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Short delays and small files, so that much happens in little time.
  ///
  /// - Parameter turn: counts reloads: each writes another linger.
  func yaml(turn: Int) -> String {
    """
    # The relay of a run of event-relay torture.
    data_dir: ./data
    ingest: { listen: ["127.0.0.1:0"], keys: any }
    admin: { listen: "127.0.0.1:0" }
    apps:
      - { name: ios, write_key: aso_wk_torture_ios, default: true }
      - { name: android, write_key: aso_wk_torture_android }
    log: { segment_size: 2MiB, max_size: 512MiB, min_free_disk: 1MiB }
    upstream:
      url: "http://127.0.0.1:\(upstreamPort)"
      linger: \(20 + turn % 7 * 10)ms
      timeout: 2s
      retry: { initial: 50ms, max: 400ms, jitter: 10% }
      rate_limit: { events_per_minute: 0, per_install_per_minute: 0 }
    sinks:
      - { name: raw, type: ndjson, path: "./events/%Y%m%d-%H%M.ndjson", rotate: { size: 256KiB, every: 10s } }
      - { name: audit, type: archive, path: ./archive, rotate: { size: 64KiB, every: 10s } }
      - name: hook
        type: webhook
        url: "http://127.0.0.1:\(hookPort)/hook"
        secret: whsec_\(ScriptedReceiver.base64(ScriptedReceiver.key))
        linger: \(30 + turn % 5 * 10)ms
        timeout: 2s
        retry: { initial: 50ms, max: 400ms, give_up_after: 30d }
    shutdown: { grace: 2s }

    """
  }

  func writeConfiguration(turn: Int) throws(TortureError) {
    do throws(FileError) {
      try FileSystem.system.replace(configuration, with: Array(yaml(turn: turn).utf8))
    } catch {
      throw TortureError("can't write \(configuration): \(error)")
    }
  }
}
