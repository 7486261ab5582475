/// What names an event to its sender: whose it is, and its id.
public struct EventKey: Sendable, Hashable, BitwiseCopyable {
  /// The app, by ``hash(ofApp:)``.
  public var app: UInt64
  /// The 16 bytes of `event_id`, the first eight as a big-endian number.
  public var idHigh, idLow: UInt64

  public init(app: UInt64, idHigh: UInt64, idLow: UInt64) {
    self.app = app
    self.idHigh = idHigh
    self.idLow = idLow
  }

  /// FNV-1a of an app's name, 64 bits: the same in every run, since it stands in files.
  public static func hash(ofApp name: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return hash
  }
}
