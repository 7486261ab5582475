import Glibc
import DeadLetters
import EventLog
import JSON
import Records

extension ReplayDesk {
  /// Puts dead letters back to the destinations they came from: a replay for each.
  ///
  /// - Parameters:
  ///   - request: what is meant; its destination is nil for all.
  ///   - isDryRun: only counts them.
  /// - Throws: when letters are meant whose destination is there no longer; then none is put back.
  public func startDeadLetters(
    _ filter: DeadLetterFilter, _ template: ReplayRequest, isDryRun: Bool, by actor: String
  ) throws(ReplayError) -> [ReplayStatus] {
    let destinations = try destinations(of: filter)
    if let missing = destinations.first(where: { room.destinations[$0.key] == nil }) {
      throw ReplayError(
        .notFound,
        "there are dead letters of \(missing.key), which is configured no longer: put it back, or name another "
          + "destination with the filter")
    }
    for destination in destinations.keys { room.waitForCommit(of: destination) }
    var statuses: [ReplayStatus] = []
    for destination in destinations.keys.sorted() {
      var request = template
      request.destination = destination
      statuses.append(try start(request, isDryRun: isDryRun, by: actor))
    }
    return statuses
  }

  /// Removes dead letters for good.
  public func dropDeadLetters(_ filter: DeadLetterFilter, by actor: String) throws(ReplayError)
    -> DeadLetterDrop.Outcome
  {
    var marks: [String: FileMark] = [:]
    for name in room.destinations.keys where filter.destination == nil || filter.destination == name {
      room.waitForCommit(of: name)
      marks[name] = room.committedLetters(of: name)
    }
    do {
      try room.audit(
        "dead-letters drop", actor,
        [
          "destination": JSONValue(filter.destination), "app": JSONValue(filter.app),
          "code": JSONValue(filter.code), "since": JSONValue(filter.since?.description),
          "until": JSONValue(filter.until?.description),
        ])
      return try room.deadLetters.drop(filter, committed: marks)
    } catch {
      throw ReplayError(.failed, "\(error)")
    }
  }

  /// The destinations with letters that are meant, and how many files those are in: a file has one destination's alone.
  private func destinations(of filter: DeadLetterFilter) throws(ReplayError) -> [String: Int] {
    var found: [String: Int] = [:]
    let reader = DeadLetterReader(directory: room.deadLetters.directory)
    do throws(FileError) {
      for file in try reader.files() {
        _ = try reader.forEach(in: file, filter, readsEvents: false) { letter, _ in
          found[letter.destination, default: 0] += 1
          return false
        }
      }
    } catch {
      throw ReplayError(.failed, "the dead letters can't be read: \(error)")
    }
    return found
  }
}

extension ReplayDesk.Room {
  /// How long a destination may take to put on record what it has given up.
  private static let commitPatience: Duration = .seconds(30)

  /// Waits until the dead letters that a destination has written by now are on its record: what lies behind that is tried
  /// again after a crash, and can't be put back or dropped before. Not for ever.
  func waitForCommit(of destination: String) {
    guard waitsForRoom else { return }
    let begun = ContinuousClock.now
    while let mark = committedLetters(of: destination), .now - begun < Self.commitPatience,
      let facts = (try? FileSystem.system.facts(of: mark.path)) ?? nil, facts.inode == mark.inode,
      facts.length > mark.length
    {
      usleep(10_000)
    }
  }
}
