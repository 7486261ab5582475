import Dialects
import JSON

extension StandInCore {
  static let pageLimit = 100
  static let pageLimitMax = 1000
  static let pageBytesMax = 4 << 20

  /// The body of `GET /events`: as an object, or as lines.
  func listing(from offset: UInt64, limit: Int, asLines: Bool) throws(StandInError) -> [UInt8] {
    let result = state.withLock { state in
      Result { () throws(StandInError) in
        let page = try state.journal.page(from: offset, limit: limit, bytesMax: Self.pageBytesMax)
        return (page, state.journal.first, state.journal.next)
      }
    }
    let (page, first, end) = try result.get()
    if asLines { return page.lines }
    var out = Array("{\"first\":\(first),\"end\":\(end),\"next\":\(page.next),\"events\":[".utf8)
    out.reserveCapacity(out.count + page.lines.count + 4)
    out += page.lines
    // Each line's end is in a comma's place; the last one's isn't needed.
    if page.count > 0 { out.removeLast() }
    var index = out.count - max(page.lines.count - 1, 0)
    while index < out.count {
      if out[index] == UInt8(ascii: "\n") { out[index] = UInt8(ascii: ",") }
      index += 1
    }
    out += "]}\n".utf8
    return out
  }

  /// The body of `GET /stats`: counts of all protocols together, and under `protocols` of each by itself.
  var statisticsBody: [UInt8] {
    let (counts, apps, quota, first, end) = state.withLock { state in
      (state.statistics, state.account.summary, state.account.quota, state.journal.first, state.journal.next)
    }
    let all = configuration.protocols
    let sum = counts.values.reduce(StandInStatistics(), +)
    let month = quota.month < 10 ? "\(quota.year)-0\(quota.month)" : "\(quota.year)-\(quota.month)"
    var members = sum.members(of: all)
    members.append(
      .init(
        "quota",
        [
          "month": quota.year == 0 ? .null : .string(month), "used": JSONValue(quota.used),
          "limit": quota.limit.map { JSONValue($0) } ?? .null, "refused": JSONValue(sum.quotaRefused),
        ]))
    members.append(.init("kept", ["first": JSONValue(first), "end": JSONValue(end)]))
    members.append(
      .init(
        "protocols",
        .object(
          all.map { dialect in
            .init(dialect.name, .object((counts[dialect.number] ?? StandInStatistics()).members(of: [dialect])))
          })))
    members.append(
      .init(
        "apps",
        .array(
          apps.map {
            [
              "app": .string($0.name), "protocol": .string($0.protocolName), "stored": JSONValue($0.stored),
              "event_names": JSONValue($0.names),
            ]
          })))
    return JSONValue.object(members).utf8 + [UInt8(ascii: "\n")]
  }
}
