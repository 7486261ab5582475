import Dialects
import JSON

/// The answer of a batch of any length: `{"accepted":…,"rejected":[…],"clamped":[…]}`, an entry a line.
final class AnswerListing: Sendable {
  private let rejected = Spool()
  private let clamped = Spool()

  /// Adds an entry of `rejected`, its index being the event's place in the whole file.
  func reject(index: Int, eventIDToken: [UInt8]?, code: String, message: String) throws(CommandFailure) {
    var entry = Array("{\"index\":\(index),\"event_id\":".utf8)
    entry += eventIDToken ?? Array("null".utf8)
    entry += ",\"code\":".utf8
    JSONText.appendString(code, to: &entry)
    entry += ",\"message\":".utf8
    JSONText.appendString(message, to: &entry)
    entry.append(UInt8(ascii: "}"))
    try add(entry, to: rejected)
  }

  /// Adds an entry of `rejected` with the whole answer that a request of the event alone gets, where there is no entry in
  /// answers: `{"index":…,"event_id":…,"status":400,"answer":{…}}`.
  func refuse(index: Int, eventID: String?, _ answer: DialectAnswer) throws(CommandFailure) {
    var entry = JSONValue.object([
      .init("index", JSONValue(index)), .init("event_id", JSONValue(eventID)),
      .init("status", JSONValue(answer.status)),
    ]).utf8
    entry.removeLast()
    entry += ",\"answer\":".utf8
    entry += answer.body.isEmpty ? Array("null".utf8) : answer.body
    entry.append(UInt8(ascii: "}"))
    try add(entry, to: rejected)
  }

  func clamp(index: Int, eventID: String?) throws(CommandFailure) {
    try add(
      JSONValue.object([.init("index", JSONValue(index)), .init("event_id", JSONValue(eventID))]).utf8, to: clamped)
  }

  private func add(_ entry: [UInt8], to spool: Spool) throws(CommandFailure) {
    try spool.append((spool.isEmpty ? Array("\n".utf8) : Array(",\n".utf8)) + entry)
  }

  /// Prints the whole, with further members at its end.
  func print(accepted: Int, _ more: [JSONValue.Member] = [], to output: Output) throws(CommandFailure) {
    output.print("{\"accepted\":\(accepted),\"rejected\":[", terminator: "")
    try rejected.drain { output.print(bytes: $0) }
    output.print("],\"clamped\":[", terminator: "")
    try clamped.drain { output.print(bytes: $0) }
    output.print("]", terminator: "")
    for member in more {
      var text = Array(",".utf8)
      JSONText.appendString(member.key, to: &text)
      text.append(UInt8(ascii: ":"))
      member.value.write(to: &text)
      output.print(bytes: text)
    }
    output.print("}")
  }
}
