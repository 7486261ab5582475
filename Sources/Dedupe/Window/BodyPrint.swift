import CPlatform

/// What tells two bodies under one id apart: length and CRC-32C of the event's bytes, as they were sent.
///
/// Only for counting conflicts: two different bodies pass for the same once in four thousand million times.
public enum BodyPrint {
  public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard let base = bytes.baseAddress else { return 0 }
    return UInt64(truncatingIfNeeded: bytes.count) << 32 | UInt64(platform_crc32c(0, base, bytes.count))
  }
}
