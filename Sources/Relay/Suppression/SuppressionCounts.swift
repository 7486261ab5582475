import CPlatform
import Clocks
import JSON
import Records

/// How many events deny lists have kept out, by app; and their form on disk, `data_dir/suppressed.json`.
///
/// Two lines: `{"format":"event-relay-suppressed","version":1,"bytes":41,"crc32c":"…"}`, the length and checksum of the second
/// one, and `{"counts_since":null,"apps":{"ios":12}}`.
struct SuppressionCounts: Sendable, Equatable {
  static let format = "event-relay-suppressed"
  static let version = 1
  static let fileName = "suppressed.json"
  /// Bytes of a file; many times what 1,000 apps take, and all that were there before them.
  static let fileBytesMax = 16 << 20

  var apps: [String: UInt64] = [:]
  /// The counts began anew then, since the file of before was damaged; nil: they never did.
  var since: Timestamp?

  var total: UInt64 { apps.values.reduce(0, Self.sum) }

  mutating func add(_ events: Int, to app: String) {
    apps[app] = Self.sum(apps[app] ?? 0, UInt64(clamping: events))
  }

  private static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, isOver) = one.addingReportingOverflow(other)
    return isOver ? .max : sum
  }

  /// What `/status` shows.
  var json: JSONValue {
    var members: [JSONValue.Member] = [.init("total", JSONValue(total)), .init("apps", byName)]
    if let since { members.append(.init("counts_since", .string(since.description))) }
    return .object(members)
  }

  private var byName: JSONValue {
    .object(apps.sorted { $0.key < $1.key }.map { .init($0.key, JSONValue($0.value)) })
  }

  // MARK: On disk

  enum Content: Sendable, Equatable {
    case counts(SuppressionCounts)
    case newer(version: Int)
    case damaged
  }

  var encoded: [UInt8] {
    let record: JSONValue = ["counts_since": since.map { JSONValue($0.milliseconds) } ?? .null, "apps": byName]
    let body = record.utf8 + [UInt8(ascii: "\n")]
    let head: JSONValue = [
      "format": .string(Self.format), "version": JSONValue(Self.version), "bytes": JSONValue(body.count),
      "crc32c": .string(Self.checksum(of: body)),
    ]
    return head.utf8 + [UInt8(ascii: "\n")] + body
  }

  static func parse(_ bytes: [UInt8]) -> Content {
    guard let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONValue(parsing: Array(bytes[..<lineEnd])), head["format"]?.string == format,
      let version: Int = head["version"]?.integer(), version > 0
    else { return .damaged }
    guard version <= Self.version else { return .newer(version: version) }
    let body = Array(bytes[(lineEnd + 1)...])
    guard head["bytes"]?.integer() == body.count, head["crc32c"]?.string == checksum(of: body),
      let json = try? JSONValue(parsing: body), let apps = json["apps"]?.members
    else { return .damaged }
    var counts = SuppressionCounts()
    counts.since = json["counts_since"]?.integer().map { Timestamp(milliseconds: $0) }
    for app in apps {
      guard let count: UInt64 = app.value.integer() else { return .damaged }
      counts.apps[app.key] = count
    }
    return .counts(counts)
  }

  /// What a data directory says; nil when nothing was ever kept out.
  static func read(_ directory: String, on files: FileSystem = .system) throws(FileError) -> Content? {
    try files.readWhole("\(directory)/\(fileName)", limit: fileBytesMax).map(parse)
  }

  /// Eight hex digits.
  private static func checksum(of bytes: [UInt8]) -> String {
    let digits = String(bytes.withUnsafeBytes { platform_crc32c(0, $0.baseAddress!, $0.count) }, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
