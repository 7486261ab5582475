import Clocks
import Glibc

/// What stands before the event in an archive's line, read without parsing the line.
///
/// The names of a line stand in a fixed order, and in a string before them every quote is escaped: the first place where
/// one stands with its quotes is the member itself.
enum LineHead {
  private static let sequenceName = Array(#","seq":"#.utf8)
  private static let relayName = Array(#"","relay":"#.utf8)

  /// The event's number; nil when the line is none of ours.
  static func sequence(of line: UnsafeRawBufferPointer) -> UInt64? {
    guard let at = find(sequenceName, in: line) else { return nil }
    var number: UInt64 = 0
    var digits = 0
    for byte in line[(at + sequenceName.count)...] {
      guard byte >= 0x30, byte <= 0x39 else { break }
      let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = product.addingReportingOverflow(UInt64(byte - 0x30))
      if isLarge || isLarger { return nil }
      number = sum
      digits += 1
    }
    return digits > 0 ? number : nil
  }

  /// `received_at` as it is written: 24 bytes, whose order is that of time.
  static func receivedAt(of line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let opening = #"{"received_at":""#.utf8
    guard line.count >= opening.count + 24, line.starts(with: opening) else { return nil }
    return UnsafeRawBufferPointer(rebasing: line[opening.count..<opening.count + 24])
  }

  /// `received_at` as a moment; nil when the line is none of ours.
  static func receivedMoment(of line: UnsafeRawBufferPointer) -> Timestamp? {
    guard let text = receivedAt(of: line) else { return nil }
    func number(_ at: Int, _ digits: Int) -> Int64? {
      var out: Int64 = 0
      for byte in text[at..<at + digits] {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        out = out * 10 + Int64(byte - 0x30)
      }
      return out
    }
    guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
      let minute = number(14, 2), let second = number(17, 2), let millisecond = number(20, 3), 1...12 ~= month,
      1...31 ~= day
    else { return nil }
    let days = Timestamp.days(year: Int(year), month: Int(month), day: Int(day))
    return Timestamp(
      milliseconds: days * 86_400_000 + hour * 3_600_000 + minute * 60_000 + second * 1000 + millisecond)
  }

  /// Whether the line says that it is of a relay, whose name is given as JSON.
  static func isOf(relay literal: [UInt8], _ line: UnsafeRawBufferPointer) -> Bool {
    guard let at = find(relayName, in: line) else { return false }
    return line[(at + relayName.count)...].starts(with: literal)
  }

  /// Where some bytes first stand in a line.
  static func find(_ name: [UInt8], in line: UnsafeRawBufferPointer) -> Int? {
    guard let base = line.baseAddress else { return nil }
    return name.withUnsafeBytes { name in
      var at = 0
      while at + name.count <= line.count,
        let found = memchr(base + at, Int32(name[0]), line.count - name.count + 1 - at)
      {
        if memcmp(found, name.baseAddress!, name.count) == 0 { return UnsafeRawPointer(found) - base }
        at = UnsafeRawPointer(found) - base + 1
      }
      return nil
    }
  }
}
