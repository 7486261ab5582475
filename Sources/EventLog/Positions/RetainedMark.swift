import JSON
import Observability

/// The log's note of how far every destination had settled everything: `retained` in its directory.
///
/// A destination whose record is gone or damaged begins behind it, since what lies before is only kept for replay.
enum RetainedMark {
  static let fileName = "retained"
  static let format = "event-relay-retained"
  static let version = 1

  /// The number after the last event that all had settled; 0 when nothing is known.
  static func read(_ directory: String, _ disk: any Disk, _ logger: Logger = .silent) -> UInt64 {
    let path = "\(directory)/\(fileName)"
    guard let bytes = try? disk.readWhole(path, limit: 4096) else { return 0 }
    guard let json = try? JSONValue(parsing: bytes), json["format"]?.string == format,
      json["version"]?.integer() == version, let through: UInt64 = json["through"]?.integer(),
      Plausible.isSequence(through)
    else {
      logger.warning("the note of what is only kept for replay can't be read and is left aside", about: path)
      return 0
    }
    return through
  }

  /// A newer program's note is left as it is.
  static func write(_ through: UInt64, _ directory: String, _ disk: any Disk) throws(DiskError) {
    let old = (try? disk.readWhole("\(directory)/\(fileName)", limit: 4096)).flatMap { try? JSONValue(parsing: $0) }
    if let version: Int = old?["version"]?.integer(), version > Self.version { return }
    let json: JSONValue = [
      "format": .string(format), "version": JSONValue(version), "through": JSONValue(through),
    ]
    try disk.replace("\(directory)/\(fileName)", in: directory, with: json.utf8 + [UInt8(ascii: "\n")])
  }
}
