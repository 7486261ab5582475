import JSON

/// The body of the answer to a valid batch: `{"accepted":…,"rejected":[…],"clamped":[…]}`.
public enum BatchAnswer {
  /// Appends the answer. Ids are echoed as they were sent, null where there was none that is a string.
  public static func write(accepted: Int, rejected: [Rejection], clamped: [ClampedEvent], to out: inout [UInt8]) {
    append("{\"accepted\":", to: &out)
    append(number: accepted, to: &out)
    if rejected.isEmpty, clamped.isEmpty { return append(",\"rejected\":[],\"clamped\":[]}", to: &out) }
    append(",\"rejected\":[", to: &out)
    for (position, rejection) in rejected.enumerated() {
      append(position == 0 ? "{\"index\":" : ",{\"index\":", to: &out)
      append(number: rejection.index, to: &out)
      append(",\"event_id\":", to: &out)
      if let token = rejection.eventIDToken { out += token } else { append("null", to: &out) }
      append(",\"code\":\"", to: &out)
      out += rejection.code.rawValue.utf8
      append("\",\"message\":", to: &out)
      JSONText.appendString(rejection.message, to: &out)
      append("}", to: &out)
    }
    append("],\"clamped\":[", to: &out)
    for (position, event) in clamped.enumerated() {
      append(position == 0 ? "{\"index\":" : ",{\"index\":", to: &out)
      append(number: event.index, to: &out)
      append(",\"event_id\":\"", to: &out)
      event.id.write(to: &out)
      append("\"}", to: &out)
    }
    append("]}", to: &out)
  }

  @inline(__always)
  private static func append(_ text: StaticString, to out: inout [UInt8]) {
    out.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func append(number: Int, to out: inout [UInt8]) {
    if number >= 10 { append(number: number / 10, to: &out) }
    out.append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}
