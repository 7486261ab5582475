import JSON
import Observability
import Records

/// How many dead letters of each destination are gone, and why: `removed.json` in their directory.
///
/// A removal is noted before it is done, so that a crash in the middle of it changes no count.
struct RemovedLetters: Sendable, Equatable {
  static let fileName = "removed.json"
  static let format = "event-relay-removed-letters"
  static let version = 1

  typealias Counts = [DeadLetterRemoval: Int]

  /// A removal that was begun.
  struct Intent: Equatable {
    /// The file whose disappearance, or whose rewritten copy's, says that it was done.
    var witness: String
    var destination: String
    var reason: DeadLetterRemoval
    var letters: Int
  }

  var counts: [String: Counts] = [:]
  var intent: Intent?
  /// A newer program wrote what is on disk: that stays as it is.
  private var isNewer = false

  mutating func add(_ intent: Intent) {
    counts[intent.destination, default: [:]][intent.reason, default: 0] += intent.letters
  }

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("format", .string(Self.format)), .init("version", JSONValue(Self.version)),
      .init(
        "removed",
        .object(
          counts.sorted { $0.key < $1.key }.map { destination, counts in
            .init(
              destination,
              .object(
                DeadLetterRemoval.allCases.compactMap { reason in
                  counts[reason].map { .init(reason.rawValue, JSONValue($0)) }
                }))
          })),
    ]
    if let intent {
      members.append(
        .init(
          "intent",
          [
            "witness": .string(intent.witness), "destination": .string(intent.destination),
            "reason": .string(intent.reason.rawValue), "letters": JSONValue(intent.letters),
          ]))
    }
    return .object(members)
  }

  init() {}

  private init?(_ json: JSONValue) {
    guard let removed = json["removed"]?.members else { return nil }
    for destination in removed {
      for count in destination.value.members ?? [] {
        guard let reason = DeadLetterRemoval(rawValue: count.key), let number: Int = count.value.integer() else {
          return nil
        }
        counts[destination.key, default: [:]][reason] = number
      }
    }
    guard let intent = json["intent"] else { return }
    guard let witness = intent["witness"]?.string, let destination = intent["destination"]?.string,
      let reason = intent["reason"]?.string.flatMap(DeadLetterRemoval.init),
      let letters: Int = intent["letters"]?.integer()
    else { return nil }
    self.intent = Intent(witness: witness, destination: destination, reason: reason, letters: letters)
  }

  /// Reads the counts, and settles a removal that a crash interrupted.
  ///
  /// - Parameter mends: whether what such a removal left may be removed; false changes nothing on disk.
  static func read(
    _ directory: String, _ system: FileSystem, _ logger: Logger = .silent, mends: Bool = true
  ) -> RemovedLetters {
    let path = "\(directory)/\(fileName)"
    guard let bytes = try? system.readWhole(path) else { return RemovedLetters() }
    let json = try? JSONValue(parsing: bytes)
    if let version: Int = json?["version"]?.integer(), version > Self.version {
      logger.warning(
        "the counts of removed dead letters are of a newer version: they are left as they are", about: path,
        ["version": .integer(version), "known": .integer(Self.version)])
      var removed = RemovedLetters()
      removed.isNewer = true
      return removed
    }
    guard let json, json["format"]?.string == format, json["version"]?.integer() == version,
      var removed = RemovedLetters(json)
    else {
      logger.warning("the counts of removed dead letters can't be read: they begin anew", about: path)
      return RemovedLetters()
    }
    if let intent = removed.intent {
      let isThere = (try? system.facts(of: "\(directory)/\(intent.witness)")) ?? nil
      if isThere == nil { removed.add(intent) }
      removed.intent = nil
      if mends { removed.settle(intent, directory, system, logger) }
    }
    return removed
  }

  /// Notes what became of a removal that was interrupted, and then removes the copy that never took the file's place: while
  /// the removal is noted as begun, a copy that is gone would say that it was done.
  private func settle(_ intent: Intent, _ directory: String, _ system: FileSystem, _ logger: Logger) {
    do throws(FileError) {
      try write(directory, system)
      guard intent.witness.hasSuffix(DeadLetterDrop.temporaryEnding) else { return }
      try system.remove("\(directory)/\(intent.witness)")
    } catch {
      logger.warning(
        "it can't be noted what became of a removal of dead letters", about: directory,
        ["reason": .text(error.description)])
    }
  }

  func write(_ directory: String, _ system: FileSystem) throws(FileError) {
    if isNewer { return }
    try system.replace("\(directory)/\(Self.fileName)", with: json.utf8 + [UInt8(ascii: "\n")])
  }
}

/// Why dead letters went without being sent.
public enum DeadLetterRemoval: String, Sendable, CaseIterable {
  /// `dead_letters.max_size` was reached.
  case size
  /// They were older than `dead_letters.retention`.
  case age
  /// Somebody dropped them.
  case dropped
}
