import EventsAPI
import JSON

/// What became of a wish to reload.
struct ReloadOutcome: Sendable, Equatable {
  /// A part that didn't take.
  struct Failure: Sendable, Equatable {
    /// As in the file, or `sinks.NAME`.
    var key: String
    var message: String
  }

  /// Keys that took effect or need a restart, or the configuration's faults.
  var applied: [String] = []
  var needsRestart: [String] = []
  var faults: [String] = []
  var failures: [Failure] = []

  var isDone: Bool { faults.isEmpty && failures.isEmpty }

  /// 200; 422 when the configuration has faults and nothing was changed; 500 when a part of it didn't take.
  var status: Int { isDone ? 200 : faults.isEmpty ? 500 : 422 }

  var json: JSONValue {
    guard faults.isEmpty else {
      return [
        "code": "invalid_configuration", "message": "The configuration has faults; the old one is kept.",
        "faults": .array(faults.map(JSONValue.string)),
      ]
    }
    var members: [JSONValue.Member] = []
    if !failures.isEmpty {
      members = [
        .init("code", "reload_incomplete"),
        .init("message", "A part of the configuration did not take effect; the next reload tries it again."),
        .init("failed", .array(failures.map { ["key": .string($0.key), "message": .string($0.message)] })),
      ]
    }
    members += [
      .init("applied", .array(applied.map(JSONValue.string))),
      .init("needs_restart", .array(needsRestart.map(JSONValue.string))),
    ]
    return .object(members)
  }
}
