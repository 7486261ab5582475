import JSON

/// How far a line file is written and synced: what a destination commits with its position, and finds the file by again.
public struct FileMark: Sendable, Equatable {
  public var path: String
  public var device, inode: UInt64
  /// Bytes that are on stable storage and count; what lies behind them after a crash is cut off.
  public var length: Int
  /// A hash of the last bytes before `length`: inode numbers are used again, so that another file may have ours.
  public var tail: UInt64
  /// When the file was made, in nanoseconds since 1970; 0 when its file system doesn't say. With the inode it tells a file
  /// from any other that was there before or comes after it.
  public var born: Int64

  public init(path: String, device: UInt64, inode: UInt64, length: Int, tail: UInt64, born: Int64 = 0) {
    self.path = path
    self.device = device
    self.inode = inode
    self.length = length
    self.tail = tail
    self.born = born
  }

  /// Whether both tell of one file, however long.
  public func isSameFile(as other: FileMark) -> Bool {
    device == other.device && inode == other.inode && path == other.path
  }

  /// `{"path":"…","device":1,"inode":2,"length":3,"tail":"…","born":4}`
  public var json: JSONValue {
    [
      "path": .string(path), "device": JSONValue(device), "inode": JSONValue(inode), "length": JSONValue(length),
      "tail": .string(String(tail, radix: 16)), "born": JSONValue(born),
    ]
  }

  /// Nil when the value is no mark.
  public init?(_ json: JSONValue) {
    guard let path = json["path"]?.string, let device = json["device"]?.integer(as: UInt64.self),
      let inode = json["inode"]?.integer(as: UInt64.self), let length = json["length"]?.integer(as: Int.self),
      length >= 0, let tail = json["tail"]?.string.flatMap({ UInt64($0, radix: 16) })
    else { return nil }
    self.init(
      path: path, device: device, inode: inode, length: length, tail: tail,
      born: json["born"]?.integer(as: Int64.self) ?? 0)
  }
}
