/// An event as a line of a sink's file, or a webhook's body, has it, held against what was minted.
struct RecordedLine {
  var sequence: UInt64 = 0
  /// Nil for an event that nobody minted.
  var number: Int?
  /// The event was clamped, and this is the time that counts.
  var timeUsed: String?
  /// A dead letter's.
  var destination: String?
  var reason: String?
  /// What is wrong with it.
  var oddity: ArrivalNotes.Oddity?

  init(_ bytes: UnsafeRawBufferPointer, in line: Range<Int>, _ mint: EventMint) {
    var event: Range<Int>?
    var isIdentify = false
    for (key, value) in JSONCutter.members(bytes, in: line) {
      func text() -> String { String(decoding: bytes[value.lowerBound + 1..<value.upperBound - 1], as: UTF8.self) }
      switch String(decoding: bytes[key], as: UTF8.self) {
      case "seq": sequence = UInt64(String(decoding: bytes[value], as: UTF8.self)) ?? 0
      case "kind": isIdentify = text() == "identify"
      case "occurred_at_used": timeUsed = text()
      case "destination": destination = text()
      case "reason": reason = text()
      case "event": event = value
      default: break
      }
    }
    guard let event, sequence > 0 else {
      oddity = .init(id: "", detail: "a line that is no record")
      return
    }
    let id = JSONCutter.text(isIdentify ? "user_id" : "event_id", bytes, in: event) ?? ""
    guard let number = isIdentify ? mint.number(ofUser: id) : mint.number(ofID: id) else {
      oddity = .init(id: id, detail: "an event that nobody minted (seq \(sequence))")
      return
    }
    self.number = number
    if !mint.bytesOnOneLine(number).elementsEqual(bytes[event]) {
      oddity = .init(
        number: number, id: id, detail: "its bytes are others than were sent (seq \(sequence))", isAltered: true)
    }
  }
}
