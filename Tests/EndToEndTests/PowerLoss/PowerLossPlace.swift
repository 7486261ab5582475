import Foundation
import PowerLoss
import TestSupport

/// Where a round happens: the directory that the relay keeps everything in, and beside it what tells of it.
struct PowerLossPlace: Sendable {
  /// What the relay sees: always the same path, since its records name files by it.
  let disk: TemporaryDirectory
  /// Journals, identities and facts.
  let notes: TemporaryDirectory
  let receivers: PowerLossReceivers
  /// See ``PowerLossLoad/rewrites(seed:)``.
  let rewrites: Bool

  /// Bytes of a segment that was written anew; others have twice as many where ``rewrites`` is so.
  static let rewrittenMax = 64 << 10

  /// The shim lies beside the tests' own program.
  static let shim = (ChildProcess.eventRelay as NSString).deletingLastPathComponent + "/libPowerLossShim.so"

  func journal(_ generation: Int) -> String { notes.file("journal-\(generation)") }
  var identities: String { notes.file("identities") }

  /// The root as a journal names it.
  var root: FileIdentity {
    var status = stat()
    return stat(disk.path, &status) == 0
      ? FileIdentity(inode: UInt64(status.st_ino), born: 0) : FileIdentity(inode: 0, born: 0)
  }

  /// For a relay that is recorded.
  /// - Parameters:
  ///   - generation: how many cuts lie behind it.
  ///   - killAfter: it ends after so many records; nil: when it is told to.
  ///   - atName: then only when a file gets a name, which its directory's sync hasn't made durable yet.
  func recording(_ generation: Int, killAfter: Int?, atName: Bool = false, lie: String? = nil) -> [String: String] {
    var environment = settled
    environment["POWER_LOSS_JOURNAL"] = journal(generation)
    if generation > 0 { environment["POWER_LOSS_IDENTITIES"] = identities }
    environment["POWER_LOSS_KILL_AFTER"] = killAfter.map(String.init)
    if atName { environment["POWER_LOSS_KILL_AT"] = "name" }
    environment["POWER_LOSS_LIE"] = lie
    return environment
  }

  /// For a relay or command that runs on what a cut left.
  var afterCut: [String: String] {
    var environment = settled
    environment["POWER_LOSS_IDENTITIES"] = identities
    environment["POWER_LOSS_SYNC"] = "skip"
    return environment
  }

  /// What holds for every relay of the round.
  private var settled: [String: String] {
    var environment = ["LD_PRELOAD": Self.shim, "POWER_LOSS_ROOT": disk.path]
    if rewrites {
      environment["EVENT_RELAY_CRASH_ROOTS"] = "data=\(disk.file("data"))"
      environment["EVENT_RELAY_CRASH_EAGER"] = "1"
    }
    return environment
  }

  /// Puts what a cut left in place of what is there. What no relay writes stays.
  func restore(_ image: DiskImage, generation: Int) throws {
    for name in ["data", "events", "archive"] { try? FileManager.default.removeItem(atPath: disk.file(name)) }
    try image.write(below: disk.path, identities: identities, generation: generation)
  }

  func settings(linger: String = "20ms", durability: String = "fsync") -> RelaySettings {
    var settings = RelaySettings(upstream: receivers.upstream, hasSink: false)
    settings.intake = ", dedupe: { window: 1h }"
    settings.apps = """
      apps:
        - { name: ios, write_key: aso_wk_test, default: true, consent: { deny_ids_file: ./deny.txt } }
        - { name: slow, write_key: aso_wk_slow }
      """
    settings.log = "durability: \(durability), segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB"
    // All of it can be sent again then; where nothing is kept, segments come and go.
    if !rewrites { settings.log += ", retain: 1d" }
    settings.linger = linger
    settings.grace = "10s"
    settings.further = """
      sinks:
        - { name: raw, type: ndjson, path: ./events/%app/%H.ndjson, rotate: { size: 512KiB } }
        - { name: audit, type: archive, path: ./archive, rotate: { size: 8KiB } }
        - { name: hook, type: webhook, url: "\(receivers.hook.url)", linger: 20ms, timeout: 20s, retry: { initial: 20ms, max: 100ms } }
      """
    return settings
  }

  /// Writes the list of persons to be left alone.
  func writeDenied() { _ = disk.write("deny.txt", PowerLossLoad.deniedInstall + "\n") }
}
