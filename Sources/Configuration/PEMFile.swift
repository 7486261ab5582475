/// A file of certificates or of a key, as it was when the configuration was read.
///
/// Its bytes are kept, so that a file that is replaced by a bad one takes nothing away from who works with the good one.
public struct PEMFile: Sendable, Equatable, CustomStringConvertible {
  /// Absolute.
  public var path: String
  /// Empty for one who only looks for the relay.
  public var bytes: [UInt8]

  public init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }

  /// The bytes that were read, or else those that are in the file now; nil when this user can't read it.
  public var contents: [UInt8]? {
    guard bytes.isEmpty else { return bytes }
    return try? FileText.read(path, bytesMax: FileText.pemBytesMax).get()
  }

  /// The bytes may be a key.
  public var description: String { path }
}
