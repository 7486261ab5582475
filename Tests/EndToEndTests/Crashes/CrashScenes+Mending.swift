import Archive
import Clocks
import Foundation
import JSON
import Records
import TestSupport

extension CrashScene {
  /// Files that are too old: a line file with its directory, and an archive's, which an earlier life left.
  static let retention = CrashScene(
    name: "retention",
    prepare: { stage in
      // The numbers that the archive's old events have are used up first.
      let relay = try await stage.start(settings(stage, sinks: ""))
      try await stage.send(relay, events(3, bad: false))
      try await stage.flush(relay)
      try await stage.stop(relay)
      try archiveOfYesterday(stage)
      try oldLines(stage)
    },
    play: { stage in
      let relay = try await stage.start(young(stage))
      try await stage.send(relay, events(3, bad: false))
      try await stage.flush(relay)
      try await stage.wait(relay) {
        stage.names("events/2020").isEmpty && stage.names("archive").count { isOld($0) } == 0
      }
      try await stage.stop(relay)
    }, last: { young($0) },
    finish: { stage, relay in
      try await stage.wait(relay) {
        stage.names("events/2020").isEmpty && stage.names("archive").count { isOld($0) } == 0
      }
    }, hasRaw: false, hasArchive: false)

  private static func young(_ stage: CrashStage) -> RelaySettings {
    settings(
      stage,
      sinks: "{ name: raw, type: ndjson, path: ./events/%Y/%m.ndjson, retention: 60s }, "
        + "{ name: audit, type: archive, path: ./archive, retention: 1h }")
  }

  private static func isOld(_ name: String) -> Bool { name.contains("-00000000000000000001-") }

  private static func oldLines(_ stage: CrashStage) throws {
    let directory = stage.directory.file("events/2020")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let old = stage.directory.write("events/2020/01.ndjson", "{}\n")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_580_000_000)], ofItemAtPath: old)
  }

  /// Three lines of a day ago, published, as the relay's own.
  private static func archiveOfYesterday(_ stage: CrashStage) throws {
    let instance = try JSONValue(parsing: readFile(stage.directory.file("data/instance")) ?? [])
    let yesterday = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - 86_400_000)
    let place = ArchiveWriter.Place(
      path: stage.directory.file("archive"), relay: instance["id"]?.string ?? "", sink: "audit")
    let writer = try ArchiveWriter(place, memory: nil, now: yesterday)
    try writer.begin(at: yesterday, first: 1)
    for sequence in 1...3 {
      let line =
        Array(
          #"{"received_at":"\#(yesterday)","relay":"\#(place.relay)","app":"ios","kind":"event","seq":\#(sequence),"event":{}}"#
            .utf8) + [UInt8(ascii: "\n")]
      try line.withUnsafeBytes { bytes in
        try writer.append(
          bytes, [ArchiveLine(length: bytes.count, sequence: UInt64(sequence), receivedAt: yesterday)][...])
      }
    }
    try writer.sync()
    _ = try writer.publish(at: yesterday)
  }

  /// What is found damaged at the start is put right or set aside: nobody loses more than the damage by dying meanwhile.
  static let mending = CrashScene(
    name: "mending",
    prepare: { stage in
      let relay = try await stage.start(mended(stage))
      try await stage.send(relay, events(6))
      try await stage.send(relay, events(3, bad: false), key: "aso_wk_other")
      try await relay.accept([TestEvent(0, install: "left-alone")])
      try await stage.flush(relay)
      try await stage.run("replay", "--to", "raw", "--from-log")
      try await stage.flush(relay)
      try await relay.crash()
      for path in ["data/positions/upstream.json", "data/suppressed.json", "data/replays/raw/journal.json"] {
        try change(stage.directory.file(path)) { $0[$0.count / 2] ^= 1 }
      }
      // The line that tells how many keys there are.
      try change(stage.directory.file("data/keys")) { $0[$0.count - 2] ^= 1 }
      try leftovers(stage)
    },
    play: { stage in
      let relay = try await stage.start(mended(stage))
      try await stage.send(relay, events(3))
      try await stage.flush(relay)
      try await stage.stop(relay)
    }, last: { mended($0) }, hasRaw: false, keepsLetters: false)

  /// Files that a crash leaves in the log, and a sign that a sync failed.
  private static func leftovers(_ stage: CrashStage) throws {
    for number in 1...9 { _ = stage.directory.write("data/log/torn-000000000001-\(number)512.bin", "torn") }
    _ = stage.directory.write("data/log/spare-000000000090.log", "too short")
    _ = stage.directory.write("data/log/filling-000000000091.tmp", "half")
    _ = stage.directory.write("data/log/segment-000000000000.log", String(repeating: "x", count: 4096))
    _ = stage.directory.write("data/log/sync-failed", "")
    _ = stage.directory.write("data/positions/gone.json.tmp", "half")
    _ = stage.directory.write("archive/20200101T000000.000Z-00000000000000000999.ndjson.gz.part", "no salts beside it")
  }

  private static func mended(_ stage: CrashStage) -> RelaySettings {
    _ = stage.directory.write("deny.txt", "left-alone\n")
    var settings = settings(stage)
    settings.log = "segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB, retain: 1d"
    settings.apps = "apps: [{ name: ios, write_key: aso_wk_test, consent: { deny_ids_file: ./deny.txt } }]"
    return settings
  }

  static func change(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = readFile(path) ?? []
    guard !bytes.isEmpty else { throw TestFailure("\(path) is empty or missing") }
    change(&bytes)
    let descriptor = open(path, O_WRONLY | O_TRUNC)
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw TestFailure("can't write \(path)") }
  }
}
