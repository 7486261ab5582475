/// Bodies with a `Content-Encoding`, made without a library: blocks that are stored and not compressed.
enum Stored {
  static func gzip(_ content: [UInt8]) -> [UInt8] {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in content {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + blocks(content) + bytes(~crc) + bytes(UInt32(content.count))
  }

  /// What HTTP calls deflate: the zlib format.
  static func deflate(_ content: [UInt8]) -> [UInt8] {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in content {
      low = (low + UInt32(byte)) % 65521
      high = (high + low) % 65521
    }
    return [0x78, 0x01] + blocks(content) + bytes(high << 16 | low).reversed()
  }

  private static func blocks(_ content: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var at = 0
    repeat {
      let size = min(65535, content.count - at)
      out.append(at + size == content.count ? 1 : 0)
      out += [UInt8(size & 255), UInt8(size >> 8), UInt8(~size & 255), UInt8(~size >> 8 & 255)]
      out += content[at..<at + size]
      at += size
    } while at < content.count
    return out
  }

  private static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (8 * $0) & 255) } }
}
