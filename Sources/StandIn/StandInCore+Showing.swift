import EventsAPI
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

  /// The body of `GET /stats`.
  var statisticsBody: [UInt8] {
    let (counts, apps, quota, first, end) = state.withLock { state in
      (state.statistics, state.account.summary, state.account.quota, state.journal.first, state.journal.next)
    }
    func object(_ members: [(String, JSONValue)]) -> JSONValue {
      .object(members.map { JSONValue.Member($0.0, $0.1) })
    }
    let requests = APIRoute.allCases.map { route in
      let byStatus = (counts.requests[route] ?? [:]).sorted { $0.key < $1.key }
      return (route.rawValue, object(byStatus.map { ("\($0.key)", JSONValue($0.value)) }))
    }
    let month = quota.month < 10 ? "\(quota.year)-0\(quota.month)" : "\(quota.year)-\(quota.month)"
    return object([
      ("requests", object(requests)),
      (
        "events",
        object([
          ("received", JSONValue(counts.received)), ("accepted", JSONValue(counts.accepted)),
          ("stored", JSONValue(counts.stored)), ("duplicates", JSONValue(counts.duplicates)),
          ("clamped", JSONValue(counts.clamped)),
          (
            "rejected", object(RejectionCode.allCases.map { ($0.rawValue, JSONValue(counts.rejected[$0] ?? 0)) })
          ),
        ])
      ),
      ("identify", object([("calls", JSONValue(counts.identifyCalls)), ("links", JSONValue(counts.links))])),
      (
        "rate_limited",
        object(RateLimits.Scope.allCases.map { ($0.rawValue, JSONValue(counts.rateLimited[$0] ?? 0)) })
      ),
      (
        "quota",
        object([
          ("month", quota.year == 0 ? .null : .string(month)), ("used", JSONValue(quota.used)),
          ("limit", quota.limit.map { JSONValue($0) } ?? .null), ("refused", JSONValue(counts.quotaRefused)),
        ])
      ),
      ("forced_failures", JSONValue(counts.forcedFailures)),
      ("kept", object([("first", JSONValue(first)), ("end", JSONValue(end))])),
      (
        "apps",
        .array(
          apps.map {
            object([
              ("app", .string($0.name)), ("stored", JSONValue($0.stored)), ("event_names", JSONValue($0.names)),
            ])
          })
      ),
    ]).utf8 + [UInt8(ascii: "\n")]
  }
}
