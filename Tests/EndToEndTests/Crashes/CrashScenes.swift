import Foundation
import JSON
import TestSupport

/// The scenes: together they reach every place there is.
extension CrashScene {
  static let all = [life, doors, segments, rewriting, letters, lettersPastLimit, replays, retention, mending]

  static let sinks =
    "{ name: raw, type: ndjson, path: ./events/%Y/%m.ndjson, rotate: { size: 4KiB } }, "
    + "{ name: audit, type: archive, path: ./archive, rotate: { size: 1KiB } }"

  static func settings(_ stage: CrashStage, sinks: String = Self.sinks, _ further: String = "") -> RelaySettings {
    var settings = RelaySettings(stage.upstream, sinks: sinks, further)
    settings.log = "segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB"
    settings.grace = "5s"
    return settings
  }

  /// Small events, one of three bad.
  static func events(_ count: Int, bad: Bool = true) -> [TestEvent] {
    (0..<count).map { TestEvent($0, name: bad && $0 % 3 == 1 ? CrashStage.bad : "level_completed") }
  }

  /// Events of seven kilobytes.
  static func bulk(_ count: Int) -> [TestEvent] {
    let text = String(repeating: "x", count: 1000)
    let padding = "{" + (0..<7).map { #""text\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
    return (0..<count).map { TestEvent($0, properties: padding) }
  }

  /// A relay's whole life, from an empty directory on, with a webhook; and a second one.
  private static let life = CrashScene(
    name: "a life",
    play: { stage in
      let settings = withHook(stage)
      let relay = try await stage.start(settings)
      for _ in 0..<4 {
        try await stage.send(relay, events(7))
        try await stage.flush(relay)
      }
      try await stage.send(relay, events(3), key: "aso_wk_other")
      var other = settings
      other.linger = "10ms"
      try await relay.reload(other, in: stage.directory)
      try await stage.send(relay, events(3))
      try await stage.stop(relay)
      let next = try await stage.start(settings)
      try await stage.send(next, events(4))
      try await stage.stop(next)
    }, last: { withHook($0) }, hasHook: true)

  private static func withHook(_ stage: CrashStage) -> RelaySettings {
    let hook =
      "{ name: hook, type: webhook, url: \"\(stage.hook.url)\", linger: 20ms, retry: { initial: 20ms, max: 50ms } }"
    return settings(stage, sinks: "\(sinks), \(hook)")
  }

  /// Repeated events and a deny list; then neither, and a sink less.
  private static let doors = CrashScene(
    name: "the doors",
    play: { stage in
      _ = stage.directory.write("deny.txt", "left-alone\n")
      var settings = doors(stage, sinks: sinks)
      settings.intake = ", dedupe: { window: 1h }"
      let relay = try await stage.start(settings)
      try await stage.send(relay, events(5))
      try await relay.accept([TestEvent(0, install: "left-alone")])
      try await stage.flush(relay)
      var without = doors(stage, sinks: audit)
      without.intake = settings.intake
      try await relay.reload(without, in: stage.directory)
      try await stage.send(relay, events(5))
      try await stage.stop(relay)
      without.intake = ""
      try await stage.stop(try await stage.start(without))
    }, last: { doors($0, sinks: audit) }, hasRaw: false)

  private static let audit = "{ name: audit, type: archive, path: ./archive, rotate: { size: 1KiB } }"

  private static func doors(_ stage: CrashStage, sinks: String) -> RelaySettings {
    var settings = settings(stage, sinks: sinks, "positions: { keep: 0s }")
    settings.apps = "apps: [{ name: ios, write_key: aso_wk_test, consent: { deny_ids_file: ./deny.txt } }]"
    return settings
  }

  /// More than the log holds goes by: segments come, go, and are written over; some are kept for a second.
  private static let segments = CrashScene(
    name: "segments",
    play: { stage in
      var settings = settings(stage, sinks: "")
      settings.log = "segment_size: 2MiB, max_size: 16MiB, min_free_disk: 1MiB, retain: 1s"
      stage.upstream.behave { _ in .error(503, "server_error") }
      let relay = try await stage.start(settings)
      try await stage.send(relay, bulk(8))
      try await stage.wait(relay) { stage.reached.contains("filling.rename-to-spare.after") }
      for _ in 0..<8 { try await stage.send(relay, bulk(12)) }
      stage.upstream.behave(CrashStage.answer)
      try await stage.flush(relay)
      try await stage.wait(relay) { !stage.names("data/log").contains("segment-000000000003.log") }
      for _ in 0..<3 { try await stage.send(relay, bulk(12)) }
      try await stage.stop(relay)
    }, last: { settings($0, sinks: "") },
    finish: { stage, _ in stage.upstream.behave(CrashStage.answer) }, isEager: true, hasRaw: false, hasArchive: false)

  /// One event that waits must not keep a whole segment.
  private static let rewriting = CrashScene(
    name: "rewriting",
    play: { stage in
      let settings = settings(stage, sinks: "")
      stage.upstream.behave { request in
        request.key == "aso_wk_held" ? .error(503, "server_error") : CrashStage.answer(request)
      }
      let relay = try await stage.start(settings)
      try await stage.send(relay, events(1, bad: false), key: "aso_wk_held")
      for _ in 0..<3 { try await stage.send(relay, bulk(12)) }
      let first = stage.directory.file("data/log/segment-000000000001.log")
      try await stage.wait(relay) { (readFile(first)?.count ?? .max) < 16 << 10 }
      try await stage.stop(relay)
    }, last: { settings($0, sinks: "") },
    finish: { stage, _ in stage.upstream.behave(CrashStage.answer) }, isEager: true, hasRaw: false, hasArchive: false)
}
