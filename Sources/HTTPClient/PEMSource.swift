/// Certificates or a key in PEM, without a passphrase.
public enum PEMSource: Sendable, Equatable {
  /// A file, read anew for each connection.
  case file(String)
  /// What was in a file: it stays what it was, whatever becomes of the file.
  case bytes(PEMBytes)

  public init(_ bytes: [UInt8]) { self = .bytes(PEMBytes(bytes)) }
}

/// Bytes that stay where they are as long as somebody has them: what libcurl is handed without a copy.
///
/// Unchecked because nobody writes to them after they were made.
public final class PEMBytes: @unchecked Sendable, Equatable {
  let content: UnsafeRawBufferPointer

  public init(_ bytes: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 16)
    copy.copyBytes(from: bytes)
    content = UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
  }

  deinit { content.deallocate() }

  public static func == (one: PEMBytes, other: PEMBytes) -> Bool {
    one === other || one.content.elementsEqual(other.content)
  }
}
