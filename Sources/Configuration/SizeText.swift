/// Sizes as people write them: `64MiB`, `500kB`, `0`.
public enum SizeText {
  static let units: [(name: String, bytes: Int)] = [
    ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("kB", 1000), ("MB", 1_000_000),
    ("GB", 1_000_000_000),
  ]

  /// The size in the largest unit that fits it without a fraction, `64MiB`.
  public static func exact(_ bytes: Int) -> String {
    guard bytes != 0 else { return "0" }
    for unit in units.sorted(by: { $0.bytes > $1.bytes }) where bytes % unit.bytes == 0 {
      return "\(bytes / unit.bytes)\(unit.name)"
    }
    return "\(bytes)B"
  }

  /// The size in at most four digits, `1.4 GiB`.
  public static func rounded(_ bytes: Int) -> String {
    for unit in units[1...3].reversed() where bytes >= unit.bytes {
      let tenths = (Double(bytes) / Double(unit.bytes) * 10).rounded() / 10
      return tenths >= 100 ? "\(Int(tenths.rounded())) \(unit.name)" : "\(tenths) \(unit.name)"
    }
    return "\(bytes) B"
  }
}

extension ScalarFormat where Value == Int {
  /// A number of bytes.
  public static func size(_ range: ClosedRange<Int>) -> ScalarFormat {
    let (least, most) = (SizeText.exact(range.lowerBound), SizeText.exact(range.upperBound))
    return ScalarFormat(noun: "a size from \(least) to \(most), in B, KiB, MiB, GiB, kB, MB or GB") {
      text throws(Misfit) in
      let digits = text.prefix { $0.isASCII && $0.isNumber }
      let unit = text[digits.endIndex...].trimmingSpaces
      guard !digits.isEmpty else { throw Misfit("is no size") }
      guard !unit.hasPrefix(".") else { throw Misfit("is no whole number; use a smaller unit") }
      guard !unit.isEmpty || digits.allSatisfy({ $0 == "0" }) else { throw Misfit("has no unit", hint: "\(digits)B") }
      guard let scale = unit.isEmpty ? 1 : SizeText.units.first(where: { $0.name == unit })?.bytes else {
        throw Misfit("has an unknown unit", hint: SizeText.meant(String(unit)).map { "\(digits)\($0)" })
      }
      guard let number = Int(digits) else { throw Misfit("is too large") }
      let (bytes, overflow) = number.multipliedReportingOverflow(by: scale)
      guard !overflow else { throw Misfit("is too large") }
      guard bytes >= range.lowerBound else { throw Misfit("is less than the least, \(least)") }
      guard bytes <= range.upperBound else { throw Misfit("is more than the most, \(most)") }
      return bytes
    }
  }
}

extension SizeText {
  /// The unit that another spelling of it means: `mb`, `M`, `Mi`.
  fileprivate static func meant(_ unit: String) -> String? {
    switch unit.lowercased() {
    case "b", "byte", "bytes": "B"
    case "k", "kb": "kB"
    case "ki", "kib": "KiB"
    case "m", "mb": "MB"
    case "mi", "mib": "MiB"
    case "g", "gb": "GB"
    case "gi", "gib": "GiB"
    default: nil
    }
  }
}
