/// The bytes of a published file and its salts, as they lie on disk.
public struct FileContents: Sendable, Equatable {
  public var bytes: Int
  public var sha256: Digest
  public var saltsBytes: Int
  public var saltsSHA256: Digest

  public init(bytes: Int, sha256: Digest, saltsBytes: Int, saltsSHA256: Digest) {
    self.bytes = bytes
    self.sha256 = sha256
    self.saltsBytes = saltsBytes
    self.saltsSHA256 = saltsSHA256
  }
}
