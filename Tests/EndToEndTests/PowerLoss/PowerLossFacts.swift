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
  /// Events that the upstream had, at the first time that it took them; and the webhook's receiver.
  var taken: [String: Int] = [:]
  var hooked: [String: Int] = [:]
  /// Changes that the operator was told are made.
  var changes: [Int] = []

  struct Count: Codable, Sendable {
    var events: Int
    var length: Int
  }

  /// The ids of a table that were noted by a cut.
  static func ids(_ table: [String: Int], by length: Int) -> Set<String> {
    Set(table.lazy.filter { $0.value <= length }.map(\.key))
  }
}
