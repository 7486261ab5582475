import Foundation
import TestSupport
import Testing

/// Numbers that can't be, behind checksums that hold: whoever reads a file takes them for damage, and never at their word.
@Suite("Wrong numbers") struct WrongNumberTests {
  private static func seed(_ target: String, _ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try #require(
      readFile(folder.appending(path: "Corpus/\(target)/\(name)").path(percentEncoded: false)))
  }

  /// The promise that a target breaks for these bytes.
  private static func broken(_ target: String, _ bytes: [UInt8]) throws -> BrokenPromise? {
    let target = try #require(FuzzTarget.named(target))
    return bytes.withUnsafeBytes { bytes in
      do throws(BrokenPromise) {
        try target.check(bytes)
        return nil
      } catch {
        return error
      }
    }
  }

  @Test(
    "every four bytes of a segment may be anything: it opens, and takes events under numbers that are free",
    arguments: ["two-frames-mended", "sealed-two-apps", "replays", "rewritten"])
  func segments(_ name: String) throws {
    let image = try Self.seed("segment", name)
    var tried = 0
    // (The first byte says that checksums are put right.)
    for at in stride(from: 1, to: image.count - 3, by: 4) where Self.isUsed(image, at) {
      for value in [UInt32(0), 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] {
        var wrong = image
        for byte in 0..<4 { wrong[at + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte))) }
        let broken = try Self.broken("segment", wrong)
        #expect(broken == nil, "\(name), \(value) at \(at - 1): \(broken?.description ?? "")")
        tried += 1
      }
    }
    #expect(tried > 300)
  }

  /// Whether something stands here or near.
  private static func isUsed(_ image: [UInt8], _ at: Int) -> Bool {
    image[max(1, at - 16)..<min(image.count, at + 16)].contains { $0 != 0 }
  }

  @Test(
    "every number of a text may be another, and none ends the process",
    arguments: [
      ("positions", "lanes"), ("positions", "all"), ("replay-journal", "intent"), ("replay-journal", "retained"),
      ("stand-in-line", "event"), ("stand-in-line", "clamped"), ("manifest", "removed"), ("manifest", "erased"),
      ("record", "dead-letter"), ("answer", "rejected"), ("answer", "voidhash-limited"), ("times", "fixdate"),
    ])
  func texts(_ target: String, _ name: String) throws {
    let text = try Self.seed(target, name)
    let others = [
      "0", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e999",
      "-9223372036854775808", "00",
    ]
    var tried = 0
    for number in Self.numbers(text) {
      for other in others {
        let wrong = text[..<number.lowerBound] + Array(other.utf8) + text[number.upperBound...]
        let broken = try Self.broken(target, Array(wrong))
        #expect(broken == nil, "\(target)/\(name), \(other) at \(number): \(broken?.description ?? "")")
        tried += 1
      }
    }
    #expect(tried >= others.count)
  }

  /// Where digits stand, run by run.
  private static func numbers(_ text: [UInt8]) -> [Range<Int>] {
    var out: [Range<Int>] = []
    var begin: Int?
    for (at, byte) in (text + [0]).enumerated() {
      let isDigit = (0x30...0x39).contains(byte)
      if isDigit, begin == nil { begin = at }
      if !isDigit, let first = begin {
        out.append(first..<at)
        begin = nil
      }
    }
    // (Of hashes a few runs are as good as all.)
    return Array(out.prefix(60))
  }
}
