import EventLog
import JSON

/// What a start finds: whether the waiting events may go to the configured upstream. A decision, without effects.
struct UpstreamOpening: Sendable {
  /// What is committed before anything is sent; its url is the one the waiting events are for.
  var record: UpstreamRecord
  /// Why nothing is sent, and what to do; nil: all is well.
  var hold: String?
  /// There was a life before, and a record of it.
  let hasRecord: Bool
  /// The record differs from what is on disk.
  var mustCommit = false

  /// - Parameter relay: the id of the instance that starts.
  init(attachment: JSONValue?, pendingEvents: Int, relay: String, configuration: UpstreamConfiguration) {
    let url = Self.shown(configuration.base)
    hasRecord = attachment != nil
    do {
      record = try UpstreamRecord(attachment)
    } catch {
      record = UpstreamRecord(url: url, relay: relay)
      hold = error.description
      return
    }
    guard record.url != url || record.relay != relay else { return }
    if let other = record.relay, other != relay, pendingEvents > 0, !configuration.adoptsWaitingEvents {
      hold =
        "\(Self.waiting(pendingEvents)) that relay \(other) accepted, and this is relay \(relay): if that one sends them "
        + "no more, start once with `event-relay run --adopt`; else give this one a data_dir of its own"
      return
    }
    if record.relay != relay {
      record.relay = relay
      mustCommit = true
    }
    guard record.url != url else { return }
    if let other = record.url, pendingEvents > 0, !configuration.adoptsWaitingEvents {
      hold =
        "\(Self.waiting(pendingEvents)) that \(pendingEvents == 1 ? "was" : "were") accepted for \(other): start once with `event-relay run --adopt` to "
        + "send them to \(url), or set upstream.url back"
      return
    }
    record.url = url
    // Another upstream knows nothing of the waits that the last one asked for.
    record.lanes = []
    mustCommit = true
  }

  private static func waiting(_ events: Int) -> String { events == 1 ? "1 event waits" : "\(events) events wait" }

  /// A URL without the user and password it may hold.
  static func shown(_ url: String) -> String {
    guard let scheme = url.firstRange(of: "://") else { return url }
    let rest = url[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return url }
    return String(url[..<scheme.upperBound] + rest[rest.index(after: at)...])
  }
}
