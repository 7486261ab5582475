import Clocks
import JSON
import Records
import Testing

@testable import Sinks

@Suite("A webhook's record")
struct WebhookRecordTests {
  private var full: WebhookRecord {
    get throws {
      var record = try WebhookRecord(nil)
      record.batch = WebhookRecord.Batch(
        first: 3, last: 102, count: 98, isReplayed: true, at: Timestamp(milliseconds: 1_792_757_071_512))
      record.plan = WebhookPlan(after: 102, eventsMax: 100, at: Timestamp(milliseconds: 1_792_757_071_512))
      record.trying = WebhookRecord.Trying(
        failures: 7, attempts: 2, tried: .seconds(90), at: Timestamp(milliseconds: 1_792_757_072_000),
        retryAt: Timestamp(milliseconds: 1_792_757_082_000), wait: .seconds(10), state: .waiting,
        detail: "as \"it\" was")
      record.deadLetters = FileMark(path: "/d/x.ndjson", device: 1, inode: 2, length: 3, tail: 4)
      return record
    }
  }

  @Test("reads what it wrote")
  func both() throws {
    #expect(try WebhookRecord(full.json) == full)
    #expect(try WebhookRecord(JSONValue(parsing: full.json.utf8)) == full)
    #expect(try WebhookRecord(WebhookRecord(nil).json) == WebhookRecord(nil))
  }

  @Test("leaves out what it can't read, and refuses what a newer program wrote")
  func damaged() throws {
    let bad: JSONValue = [
      "version": 1, "batch": ["first": 5, "last": 4, "count": 1, "at_ms": 1],
      "plan": ["through": 7, "max_events": 0, "at_ms": 1],
      "trying": ["failures": -1, "attempts": 0, "tried_ms": 0, "at_ms": 0, "wait_ms": 0], "dead_letters": 7,
    ]
    #expect(try WebhookRecord(bad) == WebhookRecord(nil))
    #expect(try WebhookRecord("x") == WebhookRecord(nil))
    let error = #expect(throws: WebhookRecordError.self) { try WebhookRecord(["version": 2]) }
    #expect(error?.description.contains("version 2") == true)
  }
}
