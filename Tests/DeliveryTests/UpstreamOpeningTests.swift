import EventLog
import JSON
import Testing

@testable import Delivery

@Suite("Whether waiting events may go to the upstreams there are")
struct UpstreamOpeningTests {
  private let usual = UpstreamConfiguration(url: "https://usual.test")
  private let own = UpstreamConfiguration(url: "https://own.test")

  private func record(_ apps: [String: [String: String]] = [:]) -> JSONValue {
    var record = UpstreamRecord(url: "https://usual.test", relay: "one")
    record.apps = apps
    return record.json
  }

  private func opening(
    _ record: JSONValue?, _ waiting: [String: Int], usual: UpstreamConfiguration? = nil,
    _ byApp: [String: UpstreamConfiguration] = [:]
  ) -> UpstreamOpening {
    UpstreamOpening(
      attachment: record, waiting: waiting, relay: "one", upstreams: Upstreams(usual: usual ?? self.usual, byApp: byApp)
    )
  }

  @Test("an app that gets an upstream of its own under waiting events is held; with none it is put on record")
  func getsOne() {
    let held = opening(record(), ["x": 2, "y": 1], ["x": own])
    #expect(held.appHolds.keys.sorted() == ["x"] && held.hold == nil)
    #expect(held.appHolds["x"]?.contains("2 events wait of app x that were accepted for https://usual.test") == true)
    let free = opening(record(), ["y": 1], ["x": own])
    #expect(free.holdsNothing && free.mustCommit)
    #expect(free.record.apps == ["x": ["app-store-operator": "https://own.test"]])
    #expect(!opening(free.record.json, ["x": 5, "y": 1], ["x": own]).mustCommit)
  }

  @Test("what an app was accepted for stays known when the usual upstream changes meanwhile")
  func usualTurns() {
    let other = UpstreamConfiguration(url: "https://other.test")
    let first = opening(record(), ["x": 2], usual: other, ["x": own])
    #expect(first.usualHold == nil && first.record.url == "https://other.test")
    #expect(first.record.apps == ["x": ["app-store-operator": "https://usual.test"]])
    #expect(first.appHolds["x"] != nil)
    // It has no upstream of its own any more: that is no reason to send it to the other one.
    let second = opening(first.record.json, ["x": 2], usual: other)
    #expect(second.appHolds["x"]?.contains("set the app's upstream.url back") == true)
    let third = opening(second.record.json, ["x": 2])
    #expect(third.holdsNothing && third.record.apps.isEmpty)
  }

  @Test("adopting takes all to where they go now")
  func adopts() {
    let adopting = UpstreamConfiguration(url: "https://other.test", adoptsWaitingEvents: true)
    let free = opening(record(["x": ["app-store-operator": "https://own.test"]]), ["x": 2, "y": 2], usual: adopting)
    #expect(free.holdsNothing && free.mustCommit && free.record.apps.isEmpty)
    #expect(free.newApps == ["x"] && free.isUsualNew)
  }

  @Test("waits of the last upstream are forgotten, of those apps alone that have another one")
  func waits() throws {
    var before = try UpstreamRecord(record())
    for app in ["x", "y"] {
      before.lanes.append(
        UpstreamRecord.LaneRecord(
          app: app, retryAt: .init(milliseconds: 0), wait: .seconds(1), failures: 3, rateLimited: 2, attempts: 4,
          unanswered: 1, tried: 7, state: .waiting, detail: ""))
    }
    #expect(try UpstreamRecord(before.json) == before)
    #expect(opening(before.json, ["y": 1], ["x": own]).record.lanes.map(\.app) == ["y"])
  }

  @Test("tells before a start what will not be sent, of configured apps alone")
  func sentences() {
    let record = record(["x": ["ordered": "https://x.test"], "gone": ["ordered": "https://gone.test"]])
    let waiting = ["x": 1, "gone": 4, "y": 3]
    let upstreams = Upstreams(usual: UpstreamConfiguration(url: "https://other.test"))
    let found = UpstreamDestination.holds(
      attachment: record, waiting: waiting, relay: "one", upstreams: upstreams
    ) { $0 != "gone" }
    #expect(found.count == 2)
    #expect(found.first?.hasPrefix("3 events wait that were accepted for https://usual.test") == true)
    #expect(
      found.last
        == "1 event waits of app x, and what of it came by ordered can't go to an upstream of app-store-operator: set "
        + "the app's protocol and upstream back until it is sent")
  }
}
