import CPlatform

/// CRC-32C of bytes, going on from another.
func crc32c(_ bytes: UnsafeRawBufferPointer, from crc: UInt32 = 0) -> UInt32 {
  guard let base = bytes.baseAddress else { return crc }
  return platform_crc32c(crc, base, bytes.count)
}

func crc32c(_ start: UnsafeRawPointer, _ count: Int, from crc: UInt32 = 0) -> UInt32 {
  platform_crc32c(crc, start, count)
}

extension UnsafeRawPointer {
  /// A little-endian number at an offset, aligned or not.
  func number<I: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: I.Type = I.self) -> I {
    I(littleEndian: loadUnaligned(fromByteOffset: offset, as: I.self))
  }
}

extension UnsafeMutableRawPointer {
  /// Writes a number in little-endian order at an offset, aligned or not.
  func put<I: FixedWidthInteger & BitwiseCopyable>(_ value: I, _ offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: I.self)
  }
}

/// The next multiple of eight.
func aligned(_ count: Int) -> Int { (count + 7) & ~7 }

/// Where the sector after this offset begins; the offset itself when it is one's beginning.
///
/// Each round of writing begins with a sector of its own, so that no sector with answered events is ever written again:
/// a cut of power in the middle of a write can garble only what nobody was told is safe.
func sectorAligned(_ offset: Int) -> Int { (offset + SegmentHeader.size - 1) & ~(SegmentHeader.size - 1) }
