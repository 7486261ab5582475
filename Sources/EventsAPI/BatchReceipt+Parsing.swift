import JSON

extension BatchReceipt {
  /// Reads the body of a 200; nil when it isn't an object with the three fields: a number and two arrays.
  init?(_ body: [UInt8], sentEvents: Int) {
    if let accepted = Self.acceptedCount(ofPlain: body) {
      self.init(accepted: accepted, countsAddUp: accepted == sentEvents)
      return
    }
    guard let object = try? JSONValue(parsing: body) else { return nil }
    guard case .number(let accepted)? = object["accepted"], case .array(let rejected)? = object["rejected"],
      case .array(let clamped)? = object["clamped"]
    else { return nil }
    self.init(accepted: 0)
    var marks = IndexMarks(count: sentEvents)
    self.rejected = rejected.compactMap { entry in
      marks.index(of: entry).map {
        RejectedEvent(
          index: $0, code: UpstreamVerdict.bounded(entry["code"]?.string ?? "", UpstreamVerdict.codeLengthMax),
          message: UpstreamVerdict.bounded(entry["message"]?.string ?? "", UpstreamVerdict.messageLengthMax))
      }
    }.sorted { $0.index < $1.index }
    self.clamped = clamped.compactMap { marks.index(of: $0) }.sorted()
    self.accepted = Int(accepted).map { max($0, 0) } ?? 0
    // An index twice, be it rejected and clamped, or one that wasn't sent, doesn't add up either.
    countsAddUp =
      Int(accepted) == sentEvents - self.rejected.count && self.rejected.count == rejected.count
      && self.clamped.count == clamped.count
  }

  /// The count of the answer to a batch without a bad event, `{"accepted":100,"rejected":[],"clamped":[]}`, without a
  /// parser; nil for any other body, the same with white space in it included.
  private static func acceptedCount(ofPlain body: [UInt8]) -> Int? {
    let (head, tail) = (#"{"accepted":"#, #","rejected":[],"clamped":[]}"#)
    let digits = body.count - head.utf8.count - tail.utf8.count
    guard digits >= 1, digits <= 4, body.starts(with: head.utf8), body.suffix(tail.utf8.count).elementsEqual(tail.utf8)
    else { return nil }
    var count = 0
    for byte in body[head.utf8.count..<head.utf8.count + digits] {
      guard byte &- UInt8(ascii: "0") < 10 else { return nil }
      count = count * 10 + Int(byte &- UInt8(ascii: "0"))
    }
    let hasLeadingZero = digits > 1 && body[head.utf8.count] == UInt8(ascii: "0")
    return hasLeadingZero ? nil : count
  }
}

/// Which of a batch's events an answer has named.
private struct IndexMarks {
  private var isNamed: [Bool]

  init(count: Int) { isNamed = Array(repeating: false, count: count) }

  /// The entry's index, if it is one of the batch's and wasn't named before.
  mutating func index(of entry: JSONValue) -> Int? {
    guard case .number(let text)? = entry["index"], let index = Int(text), isNamed.indices.contains(index) else {
      return nil
    }
    guard !isNamed[index] else { return nil }
    isNamed[index] = true
    return index
  }
}
