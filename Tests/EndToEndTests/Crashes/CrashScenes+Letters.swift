import Foundation
import JSON
import TestSupport

extension CrashScene {
  static let raw = "{ name: raw, type: ndjson, path: ./events/%Y/%m.ndjson }"

  /// Dead letters that are dropped: some of a file, then all of it.
  static let letters = CrashScene(
    name: "dead letters",
    play: { stage in
      var settings = settings(stage, sinks: raw)
      settings.onRefusedKey = "dead_letter"
      stage.upstream.behave { request in
        request.key == "aso_wk_test" ? .error(401, "invalid_write_key") : CrashStage.answer(request)
      }
      let relay = try await stage.start(settings)
      try await stage.send(relay, named(CrashStage.bad, 6))
      try await stage.send(relay, named(CrashStage.bad, 3), key: "aso_wk_other")
      try await stage.flush(relay)
      try await stage.run("dead-letters", "drop", "--code", "invalid_name")
      try await stage.run("dead-letters", "drop", "--code", "invalid_write_key")
      try await stage.stop(relay)
    },
    last: { stage in
      stage.upstream.behave(CrashStage.answer)
      return settings(stage, sinks: raw)
    }, hasArchive: false, keepsLetters: false)

  /// More dead letters than are kept: the oldest go.
  static let lettersPastLimit = CrashScene(
    name: "dead letters past the limit",
    play: { stage in
      let settings = settings(stage, sinks: raw, "dead_letters: { max_size: 1MiB }")
      let relay = try await stage.start(settings)
      let text = String(repeating: "x", count: 1000)
      let padding = "{" + (0..<7).map { #""text\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
      for _ in 0..<3 {
        try await stage.send(relay, (0..<60).map { TestEvent($0, name: CrashStage.bad, properties: padding) })
        try await stage.flush(relay)
      }
      try await stage.stop(relay)
    }, last: { settings($0, sinks: raw, "dead_letters: { max_size: 1MiB }") }, hasArchive: false, keepsLetters: false)

  /// Dead letters and past events are sent again, each once; then their sink goes, and its queue with it.
  static let replays = CrashScene(
    name: "replays",
    play: { stage in
      var settings = settings(stage, sinks: raw, "positions: { keep: 0s }")
      settings.log = "segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB, retain: 1d"
      settings.onRefusedKey = "dead_letter"
      stage.upstream.behave { _ in .error(401, "invalid_write_key") }
      let relay = try await stage.start(settings)
      try await stage.send(relay, events(6, bad: false))
      try await stage.flush(relay)
      stage.upstream.behave(CrashStage.answer)
      try await stage.run("dead-letters", "replay")
      try await stage.run("replay", "--to", "raw", "--from-log")
      try await stage.flush(relay)
      try await stage.stop(relay)
      let next = try await stage.start(settings)
      settings.further = "sinks: []\npositions: { keep: 0s }"
      try await next.reload(settings, in: stage.directory)
      try await stage.stop(next)
    },
    last: { stage in
      stage.upstream.behave(CrashStage.answer)
      return settings(stage, sinks: "", "positions: { keep: 0s }")
    }, hasRaw: false, hasArchive: false, keepsLetters: false)

  private static func named(_ name: String, _ count: Int) -> [TestEvent] {
    (0..<count).map { TestEvent($0, name: name) }
  }
}
