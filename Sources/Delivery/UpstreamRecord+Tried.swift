import EventLog
import JSON

extension UpstreamRecord {
  /// How often a request was sent without an answer, of a lane whose upstream is given up on at some time.
  struct TriedRecord: Sendable, Equatable {
    /// Entries over all lanes; what is more begins to count anew after a restart.
    static let most = 4096

    var app: String
    var isReplayed: Bool
    var tried: Tried

    var json: JSONValue {
      [
        "app": .string(app), "replayed": .bool(isReplayed), "first": JSONValue(tried.numbers.lowerBound),
        "last": JSONValue(tried.numbers.upperBound), "attempts": JSONValue(tried.tries.attempts),
        "unanswered": JSONValue(tried.tries.unanswered),
      ]
    }

    init(app: String, isReplayed: Bool, _ tried: Tried) {
      self.app = app
      self.isReplayed = isReplayed
      self.tried = tried
    }

    /// Nil when something of it is missing or of another form: then its tries begin anew.
    init?(_ json: JSONValue) {
      guard let app = json["app"]?.string, let first = json["first"]?.integer(as: UInt64.self),
        let last = json["last"]?.integer(as: UInt64.self), first <= last,
        let attempts = json["attempts"]?.integer(as: Int.self), attempts >= 0,
        let unanswered = json["unanswered"]?.integer(as: Int.self), unanswered >= 0
      else { return nil }
      self.init(
        app: app, isReplayed: json["replayed"]?.bool ?? false,
        Tried(numbers: first...last, tries: Tries(attempts: attempts, unanswered: unanswered)))
    }
  }
}

extension UpstreamEngine {
  /// What has to be on record of requests without an answer, where their number counts.
  var triedRecords: [UpstreamRecord.TriedRecord] {
    let all = lanes.values.lazy.filter { $0.upstream.countsTries }.flatMap { lane in
      lane.state.tried.map {
        UpstreamRecord.TriedRecord(app: lane.app, isReplayed: lane.lane.isReplayed, $0)
      }
    }
    return Array(all.prefix(UpstreamRecord.TriedRecord.most))
  }

  /// Has lanes know how often their requests were sent in the life before.
  func restoreTries() {
    var byLane: [Lane: [Tried]] = [:]
    for entry in record.tried {
      byLane[entry.isReplayed ? .replayed(entry.app) : .app(entry.app), default: []].append(entry.tried)
    }
    for (place, tried) in byLane {
      guard let app = place.app else { continue }
      let lane = lane(place, app: app)
      // (Of what was settled since the record was written nothing comes any more.)
      guard lane.upstream.habits.keepsRequestsApart, subscription.pending(place).events > 0 else { continue }
      lane.state.takeUp(tried)
      lane.needsRewind = true
    }
  }
}
