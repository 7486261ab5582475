import Clocks

/// Bounds of what a log ever holds.
///
/// A number past them is damage, even behind a checksum that holds: memory goes wrong before a checksum is made, too. Taken at its
/// word it would overflow somewhere, and a relay that ends itself on its own files ends itself at every start.
enum Plausible {
  /// No event ever gets a higher number, and no count of events is larger.
  static let sequenceMax: UInt64 = 1 << 62
  /// Numbers that one segment spans at most.
  static let spanMax = UInt64(UInt32.max / 2)

  static func isSequence(_ number: UInt64) -> Bool { number <= sequenceMax }
}
