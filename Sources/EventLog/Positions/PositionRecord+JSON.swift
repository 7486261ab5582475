import Clocks
import JSON

extension PositionRecord {
  static let format = "event-relay-positions"
  static let version = 3

  /// The oldest version that has what is in the record: 1 has no `replays`, 2 no `dropped_removed`.
  private var writtenVersion: Int { settled[.droppedRemoved] > 0 ? 3 : replays == nil ? 1 : 2 }

  /// Two lines: what this is with a checksum, then the record.
  var encoded: [UInt8] {
    let body = json.utf8 + [UInt8(ascii: "\n")]
    let crc = body.withUnsafeBytes { crc32c($0) }
    let head: JSONValue = [
      "format": .string(Self.format), "version": JSONValue(writtenVersion),
      "bytes": JSONValue(body.count),
      "crc32c": .string(hex(UInt64(crc), digits: 8)),
    ]
    return head.utf8 + [UInt8(ascii: "\n")] + body
  }

  var json: JSONValue {
    let lanes = lanes.sorted { $0.key < $1.key }.map { app, marks -> JSONValue in
      .object([
        .init("app", .string(app)), .init("low", JSONValue(marks.low)),
        .init(
          "above", .array(marks.above.ranges.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) })),
      ])
    }
    let counts = Outcome.allCases.compactMap { outcome in
      settled[outcome] > 0 ? JSONValue.Member(outcome.rawValue, JSONValue(settled[outcome])) : nil
    }
    var members: [JSONValue.Member] = [
      .init("destination", .string(destination)), .init("mode", .string(mode.rawValue)),
      .init("through", JSONValue(through)), .init("log_accepted", JSONValue(logAccepted)),
      .init("accepted_base", JSONValue(acceptedBase)), .init("settled", .object(counts)),
      .init("lanes", .array(lanes)),
    ]
    if let countersSince { members.append(.init("counters_since", JSONValue(countersSince.milliseconds))) }
    if let attachment { members.append(.init("attachment", attachment)) }
    if let replays { members.append(.init("replays", replays)) }
    return .object(members)
  }

  enum Reading {
    case record(PositionRecord)
    case newer(version: Int)
    case damaged
  }

  static func read(_ bytes: [UInt8], destination: String) -> Reading {
    guard let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONValue(parsing: Array(bytes[..<lineEnd])), head["format"]?.string == format,
      let version: Int = head["version"]?.integer()
    else { return .damaged }
    guard version <= Self.version else { return .newer(version: version) }
    let body = Array(bytes[(lineEnd + 1)...])
    guard head["bytes"]?.integer() == body.count,
      head["crc32c"]?.string == hex(UInt64(body.withUnsafeBytes { crc32c($0) }), digits: 8),
      let json = try? JSONValue(parsing: body), let record = PositionRecord(json, destination: destination)
    else { return .damaged }
    return .record(record)
  }

  init?(_ json: JSONValue, destination: String) {
    guard json["destination"]?.string == destination, let mode = json["mode"]?.string.flatMap(Mode.init(rawValue:)),
      let through: UInt64 = json["through"]?.integer(), let logAccepted: UInt64 = json["log_accepted"]?.integer(),
      let base: Int64 = json["accepted_base"]?.integer(), let counts = json["settled"]?.members,
      let lanes = json["lanes"]?.array, Plausible.isSequence(through), Plausible.isSequence(logAccepted),
      Plausible.isSequence(base.magnitude), let settled = Tally(counts)
    else { return nil }
    self.init(destination: destination, mode: mode, through: through)
    self.settled = settled
    for lane in lanes {
      guard let app = lane["app"]?.string, let low: UInt64 = lane["low"]?.integer(),
        Plausible.isSequence(low), let above = lane["above"]?.array.flatMap(Self.intervals)
      else { return nil }
      self.lanes[app] = LaneMarks(low: low, above: above)
    }
    self.logAccepted = logAccepted
    acceptedBase = base
    countersSince = json["counters_since"]?.integer().map(Timestamp.init(milliseconds:))
    guard countersSince?.isPlausible ?? true else { return nil }
    attachment = json["attachment"]
    replays = json["replays"]
  }

  private static func intervals(_ list: [JSONValue]) -> IntervalSet? {
    var ranges: [ClosedRange<UInt64>] = []
    for pair in list {
      guard let pair = pair.array, pair.count == 2, let lower: UInt64 = pair[0].integer(),
        let upper: UInt64 = pair[1].integer(), lower <= upper, Plausible.isSequence(upper)
      else { return nil }
      ranges.append(lower...upper)
    }
    return IntervalSet(ranges)
  }
}
