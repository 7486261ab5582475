/// What the person behind a request has said to being analysed.
enum VoidhashConsent {
  /// Of events that are not kept since the person has not agreed.
  static let rejectionCode = "consent_denied"

  /// Whether events may be kept: without the header, or with `granted` in it in letters of any case. Everything else, a value
  /// that nobody knows too, is taken for a no.
  static func isGranted(_ header: String?) -> Bool {
    guard let header else { return true }
    var text = Array(header.utf8)[...]
    while let first = text.first, isBlank(first) { text.removeFirst() }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 } == Array("granted".utf8)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
