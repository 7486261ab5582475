/// Cuts members out of an object, byte for byte: what is left stays as it came.
enum MemberCutter {
  /// An object without some of its members.
  ///
  /// With a member go the comma behind it and the white space up to the next member; with the last one the comma before it and
  /// the white space between.
  ///
  /// - Parameters:
  ///   - cuts: from a key's opening quote to the end of its value; in any order.
  ///   - object: where it stands in `body`, which is known to be JSON.
  static func cut(_ cuts: [Range<Int>], outOf object: Range<Int>, of body: UnsafeRawBufferPointer) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(object.count)
    var at = object.lowerBound
    for cut in cuts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      out.append(contentsOf: UnsafeRawBufferPointer(rebasing: body[at..<cut.lowerBound]))
      at = end(ofBlanks: body, from: cut.upperBound)
      if body[at] == UInt8(ascii: ",") {
        at = end(ofBlanks: body, from: at + 1)
      } else {
        dropLastComma(of: &out)
        // (White space before the brace stays.)
        at = cut.upperBound
      }
    }
    out.append(contentsOf: UnsafeRawBufferPointer(rebasing: body[at..<object.upperBound]))
    return out
  }

  private static func end(ofBlanks body: UnsafeRawBufferPointer, from start: Int) -> Int {
    var at = start
    while isBlank(body[at]) { at += 1 }
    return at
  }

  /// Takes away what stands behind the last member that is left; without one nothing but the brace stays.
  private static func dropLastComma(of out: inout [UInt8]) {
    while let last = out.last, isBlank(last) { out.removeLast() }
    if out.last == UInt8(ascii: ",") { out.removeLast() }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
