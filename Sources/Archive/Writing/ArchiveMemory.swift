import Clocks
import JSON

/// What the writer of an archive commits with its position: how far the archive had come.
///
/// The archive's own files say the same and more; this is to find out when they were changed, and to go on when they are
/// gone. `{"version":1,"archive":"…","entries":3,"head":"…","newest":1796037887123,"part":{…}}`
public struct ArchiveMemory: Sendable, Equatable {
  public static let version = 1

  public var head: ArchiveHead
  /// Lines of the manifest.
  public var entries: Int
  /// The time in the newest file's name.
  public var newest: Timestamp
  /// The open file; nil when none is.
  public var part: Part?

  /// How much of the open file was synced.
  public struct Part: Sendable, Equatable {
    public var time: Timestamp
    public var first, last: UInt64
    public var count: Int
    public var bytes: Int

    var name: ArchiveFileName { ArchiveFileName(time: time, first: first) }
  }

  public var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("version", JSONValue(Self.version)), .init("archive", .string(head.archive.description)),
      .init("entries", JSONValue(entries)), .init("head", .string(head.hash.description)),
      .init("newest", JSONValue(newest.milliseconds)),
    ]
    if let part {
      members.append(
        .init(
          "part",
          [
            "time": JSONValue(part.time.milliseconds), "first": JSONValue(part.first), "last": JSONValue(part.last),
            "count": JSONValue(part.count), "bytes": JSONValue(part.bytes),
          ]))
    }
    return .object(members)
  }
}

extension ArchiveMemory {
  /// Why a memory can't be used, and what to do.
  public struct Unreadable: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// Reads what was committed; nil for a beginning.
  public static func read(_ json: JSONValue?) throws(Unreadable) -> ArchiveMemory? {
    guard let json, !json.isNull else { return nil }
    if let found = json["version"]?.integer(as: Int.self), found > version {
      throw Unreadable(
        description:
          "the sink's position has version \(found), and this program reads up to \(version): run the program "
          + "that wrote it, or a newer one")
    }
    guard let memory = ArchiveMemory(json) else {
      throw Unreadable(
        description: "the sink's position can't be read: give the sink another name, or restore its position file")
    }
    return memory
  }

  private init?(_ json: JSONValue) {
    guard json["version"]?.integer(as: Int.self) != nil,
      let archive = json["archive"]?.string.flatMap({ ArchiveID($0) }),
      let hash = json["head"]?.string.flatMap({ Digest($0) }), let entries = json["entries"]?.integer(as: Int.self),
      let newest = json["newest"]?.integer(as: Int64.self)
    else { return nil }
    self.init(
      head: ArchiveHead(archive: archive, hash: hash), entries: entries, newest: Timestamp(milliseconds: newest))
    guard let part = json["part"] else { return }
    guard let time = part["time"]?.integer(as: Int64.self), let first = part["first"]?.integer(as: UInt64.self),
      let last = part["last"]?.integer(as: UInt64.self), let count = part["count"]?.integer(as: Int.self),
      let bytes = part["bytes"]?.integer(as: Int.self)
    else { return nil }
    self.part = Part(time: Timestamp(milliseconds: time), first: first, last: last, count: count, bytes: bytes)
  }
}
