/// Events of a file on their way.
struct OutgoingBatch: Sendable {
  /// Their places in the file, from 0, in the body's order.
  var indexes: [Int]
  /// Each event's bytes; empty when the body is sent as the file has it.
  var events: [[UInt8]]
  /// The file's own body.
  var whole: [UInt8]?

  var body: [UInt8] {
    if let whole { return whole }
    var out = Array("{\"events\":[".utf8)
    for (position, event) in events.enumerated() {
      if position > 0 { out.append(UInt8(ascii: ",")) }
      out += event
    }
    out += "]}".utf8
    return out
  }

  /// The batch in two; nil for a single event and for a body as the file has it.
  var halves: (OutgoingBatch, OutgoingBatch)? {
    guard whole == nil, events.count > 1 else { return nil }
    let half = events.count / 2
    return (
      OutgoingBatch(indexes: Array(indexes[..<half]), events: Array(events[..<half])),
      OutgoingBatch(indexes: Array(indexes[half...]), events: Array(events[half...]))
    )
  }
}
