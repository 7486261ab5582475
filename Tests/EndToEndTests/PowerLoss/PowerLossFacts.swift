import Foundation

/// What the world outside knows of a recorded round, each thing with the journal's length at the moment when it happened.
///
/// A cut at or behind that length may not undo it.
struct PowerLossFacts: Codable, Sendable {
  var seed: UInt64
  /// When the round's events occurred.
  var time: String
  var upstreamPort: UInt16
  var hookPort: UInt16
  /// Events that were answered with 200.
  var answered: [String: Int] = [:]
  /// Events of denied persons that were answered: how many, and when.
  var denied: [Count] = []
  /// How many of these were sent in all, answered or not.
  var deniedSent = 0
  /// Events that the upstream took, at the first time; and the webhook's receiver, each time.
  var taken: [String: Int] = [:]
  var hooked: [String: [Int]] = [:]
  /// What whoever asked for replays was told of them.
  var replays: [ToldReplay] = []
  /// And when they were begun, with what they had put into a queue before.
  var begun: [ToldReplay] = []
  /// Changes that the operator was told are made.
  var changes: [Int] = []

  struct Count: Codable, Sendable {
    var events: Int
    var length: Int
  }

  /// How far a replay had come, as was answered.
  struct ToldReplay: Codable, Sendable {
    var id: String
    var destination: String
    var sent: Int
    var isDone: Bool
    var length: Int
  }

  /// How often replays put what the log has into the line files at most, each from the first event on.
  var replaysOfLog: Int {
    let toRaw = begun.filter { $0.destination == "raw" }
    return toRaw.filter { $0.id == toRaw.first?.id && $0.sent == 0 }.count
  }

  /// How many events at least the replays to a destination had put into its queue by a cut.
  func sentAgain(to destination: String, by length: Int) -> Int {
    var most: [String: Int] = [:]
    for told in replays where told.destination == destination && told.length <= length {
      most[told.id] = max(most[told.id] ?? 0, told.sent)
    }
    return most.values.reduce(0, +)
  }

  /// How often each event had come to the webhook's receiver by a cut.
  func timesHooked(by length: Int) -> [String: Int] {
    hooked.mapValues { times in times.count { $0 <= length } }.filter { $0.value > 0 }
  }

  /// The ids of a table that were noted by a cut.
  static func ids(_ table: [String: Int], by length: Int) -> Set<String> {
    Set(table.lazy.filter { $0.value <= length }.map(\.key))
  }
}
