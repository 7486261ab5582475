import CSimdjson
import Testing

private func hash(_ text: String) -> UInt64 {
  Array(text.utf8).withUnsafeBytes { event_hash($0.baseAddress, $0.count) }
}

/// The hash by the words of its description, to hold the code against.
private func described(_ bytes: [UInt8]) -> UInt64 {
  let (k1, k2, k3): (UInt64, UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03, 0x8CB9_2BA7_2F3D_8DD7)
  func fold(_ x: UInt64, _ y: UInt64) -> UInt64 {
    let product = x.multipliedFullWidth(by: y)
    return product.low ^ product.high
  }
  func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
  var h = k1 ^ UInt64(bytes.count)
  for start in stride(from: 0, to: bytes.count, by: 16) {
    let block =
      bytes[start..<min(start + 16, bytes.count)] + Array(repeating: 0, count: max(0, start + 16 - bytes.count))
    let a = number(block.prefix(8))
    let b = number(block.suffix(8))
    h = (h << 29 | h >> 35) ^ fold(a ^ k2, b ^ h)
  }
  h = fold(h ^ k3, UInt64(bytes.count) ^ k2)
  h ^= h >> 32
  return h == 0 ? 1 : h
}

@Suite("The hash of ids that is kept on disk")
struct EventHashTests {
  @Test("is what it was when the first log was written")
  func golden() {
    let golden: [(String, UInt64)] = [
      ("", 0x4D15_768E_D213_6C77),
      ("a", 0xB200_8A8B_3F88_7710),
      ("u_81723", 0x5D02_FE78_CEF3_9D2F),
      ("curl-test", 0x72BA_53CB_F2A2_187B),
      ("0123456789abcdef", 0x1EBE_9CB4_FC20_ABDA),
      ("0123456789abcdefg", 0x7830_1F11_C4CF_0870),
      ("C5E1B0B2-4F7A-4E0F-9C1D-2A6B7E8F9012", 0x7AB7_9F88_B075_A94D),
      ("c5e1b0b2-4f7a-4e0f-9c1d-2a6b7e8f9012", 0x5480_D20B_5C2C_7F0E),
      ("ığüşöç", 0x7BCA_24FF_5D4B_780C),
    ]
    for (text, expected) in golden { #expect(hash(text) == expected, "\(text)") }
  }

  @Test("is what its description says, for every length")
  func description() {
    for length in 0...200 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + length) }
      #expect(bytes.withUnsafeBytes { event_hash($0.baseAddress, $0.count) } == described(bytes))
    }
  }

  @Test("spreads ids that hardly differ over all of its bits")
  func quality() {
    var seen: Set<UInt64> = []
    var ones = Array(repeating: 0, count: 64)
    let count = 20_000
    for number in 0..<count {
      let value = hash("u_\(number)")
      seen.insert(value)
      for bit in 0..<64 where value >> UInt64(bit) & 1 == 1 { ones[bit] += 1 }
    }
    #expect(seen.count == count)
    // Seven standard deviations.
    #expect(ones.allSatisfy { abs($0 - count / 2) < 500 })
  }

  @Test("changes half of its bits when one bit of an id changes")
  func avalanche() {
    let id = Array("C5E1B0B2-4F7A-4E0F-9C1D-2A6B7E8F9012".utf8)
    let original = id.withUnsafeBytes { event_hash($0.baseAddress, $0.count) }
    for bit in 0..<id.count * 8 {
      var changed = id
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      let distance = (changed.withUnsafeBytes { event_hash($0.baseAddress, $0.count) } ^ original).nonzeroBitCount
      #expect((10...54).contains(distance))
    }
  }
}
