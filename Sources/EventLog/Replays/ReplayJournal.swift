import JSON
import Observability

/// What is kept beside a queue of events that are sent again, so that each is put there once through crashes, and counted.
///
/// A put is noted before its events go into the queue; after a crash the queue's next number tells how many of them did.
struct ReplayJournal: Equatable {
  static let fileName = "journal.json"
  static let format = "event-relay-replays"
  static let version = 1

  /// A put that was begun.
  struct Intent: Equatable {
    /// The queue's next number before it.
    var next: UInt64
    /// Events of it.
    var count: Int
    /// What whoever puts needs to go on.
    var note: JSONValue

    /// How many of its events the queue holds, by the number that comes next now.
    func stored(next now: UInt64) -> Int { now > next ? Int(clamping: min(now - next, UInt64(count))) : 0 }
  }

  /// Dead letters that were put back, by what they had been given up for.
  var putBack = Tally()
  var intent: Intent?

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("format", .string(Self.format)), .init("version", JSONValue(Self.version)),
      .init(
        "put_back",
        .object(
          Outcome.allCases.compactMap { outcome in
            putBack[outcome] > 0 ? .init(outcome.rawValue, JSONValue(putBack[outcome])) : nil
          })),
    ]
    if let intent {
      members.append(
        .init(
          "intent", ["next": JSONValue(intent.next), "count": JSONValue(intent.count), "note": intent.note]))
    }
    return .object(members)
  }

  init() {}

  init?(_ json: JSONValue) {
    guard let counts = json["put_back"]?.members, let putBack = Tally(counts) else { return nil }
    self.putBack = putBack
    guard let intent = json["intent"] else { return }
    guard let next: UInt64 = intent["next"]?.integer(), let count: Int = intent["count"]?.integer(),
      let note = intent["note"], Plausible.isSequence(next), count >= 0
    else { return nil }
    self.intent = Intent(next: next, count: count, note: note)
  }

  /// Reads the journal of a directory; an empty one when there is none, or a damaged one, which is kept aside.
  ///
  /// - Throws: ``LogError`` when a newer program wrote it, or it can't be read now.
  static func read(_ directory: String, _ disk: any Disk, _ logger: Logger) throws(LogError) -> ReplayJournal {
    let path = "\(directory)/\(fileName)"
    let bytes: [UInt8]
    do throws(DiskError) {
      bytes = try disk.readWhole(path, limit: 64 << 20)
    } catch {
      if error.isMissing { return ReplayJournal() }
      throw LogError(error)
    }
    if let json = try? JSONValue(parsing: bytes), json["format"]?.string == format,
      let version: Int = json["version"]?.integer()
    {
      guard version <= Self.version else {
        throw LogError(
          "\(path) has format version \(version), this program reads up to \(Self.version): use the newer event-relay "
            + "that wrote it")
      }
      if let journal = ReplayJournal(json) { return journal }
    }
    try asLogError { () throws(DiskError) in try disk.rename(path, to: "\(path).damaged") }
    logger.error(
      "the journal of events that are sent again is damaged: dead letters that were put back are counted anew",
      about: path, ["kept_as": .text("\(path).damaged")])
    return ReplayJournal()
  }

  func write(_ directory: String, _ disk: any Disk) throws(LogError) {
    try asLogError { () throws(DiskError) in
      try disk.replace("\(directory)/\(Self.fileName)", in: directory, with: json.utf8 + [UInt8(ascii: "\n")])
    }
  }
}
