import Clocks
import HTTPClient
import JSON
import Testing

@testable import Dialects
@testable import EventLog

@Suite("What goes to Voidhash")
struct VoidhashBodyTests {
  private typealias Samples = VoidhashSamples
  private static let now = Timestamp(milliseconds: 1_792_757_071_512)

  private let outgoing = OutgoingVoidhash()

  /// Lays events into a batch as they lie in the log: those in one group are neighbours with a comma between them.
  private func batch(_ groups: [[String]]) -> EventBatch {
    let batch = EventBatch(capacity: 64)
    for group in groups {
      for (at, text) in group.enumerated() {
        if at > 0 {
          batch.reserve(1)
          batch.bytes[batch.used] = UInt8(ascii: ",")
          batch.used += 1
        }
        let index = EventIndex(
          idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: text.utf8.count, nameOffset: 0, occurredAtOffset: 0,
          occurredAt: Self.now, flags: [])
        let event = StoredEvent(
          sequence: UInt64(batch.events.count + 1), index: index, kind: .event, dialect: 2, receivedAt: Self.now,
          appIndex: 0, offset: 0)
        Array(text.utf8).withUnsafeBytes { batch.append(event, app: "ios", bytes: $0) }
      }
    }
    return batch
  }

  private func body(
    _ groups: [[String]], key: String = "vh_pk_1", bytesMax: Int = 1 << 20
  ) -> (text: String, count: Int) {
    let body = RequestBody(capacity: 16)
    body.append(Array("what was there before".utf8))
    let count = outgoing.fill(body, from: batch(groups), key: key, now: Self.now, bytesMax: bytesMax)
    return (String(decoding: body.content, as: UTF8.self), count)
  }

  @Test("is a batch anew of each event's bytes as captured, in their order")
  func captures() throws {
    let groups = Samples.captures.keys.sorted().map { VoidhashReading(Samples.body(ofCapture: $0)).texts }
    let events = groups.flatMap { $0 }
    try #require(events.count == 27)
    for laid in [groups, [events], events.map { [$0] }] {
      let (text, count) = body(laid)
      #expect(count == 27)
      #expect(
        text
          == #"{"events":[\#(events.joined(separator: ","))],"sent_at":"2026-10-23T12:04:31.512Z","token":"vh_pk_1"}"#)
    }
    // The relay takes in what it sends.
    let again = VoidhashReading(body(groups).text)
    #expect(again.texts == events && again.key == .key("vh_pk_1"))
  }

  @Test("has a publishable key in the body, and a secret one in its header only")
  func keys() {
    let one = [[Samples.event()]]
    #expect(body(one, key: "vh_pk_1").text.hasSuffix(#","token":"vh_pk_1"}"#))
    #expect(body(one, key: #"odd"\key"#).text.hasSuffix(#","token":"odd\"\\key"}"#))
    #expect(
      body(one, key: "vh_sk_1").text
        == #"{"events":[\#(Samples.event())],"sent_at":"2026-10-23T12:04:31.512Z"}"#)
    let plain = "Content-Type: application/json"
    #expect(
      outgoing.target(of: batch(one), key: "vh_pk_1") == OutgoingTarget(path: "/i/v1/batch", headers: [plain]))
    #expect(
      outgoing.target(of: batch(one), key: "vh_sk_1")
        == OutgoingTarget(path: "/i/v1/batch", headers: [plain, "x-secret-key: vh_sk_1"]))
  }

  @Test("ends before the event that would make it too long, and holds at least one")
  func cut() {
    let events = (0..<5).map { Samples.event(["uuid": "\"\($0)\""]) }
    for key in ["vh_pk_1", "vh_sk_1"] {
      for laid in [[events], events.map { [$0] }] {
        let three = body([Array(events[..<3])], key: key).text.utf8.count
        #expect(body(laid, key: key, bytesMax: three).count == 3)
        #expect(body(laid, key: key, bytesMax: three).text.utf8.count == three)
        #expect(body(laid, key: key, bytesMax: three - 1).count == 2)
        #expect(body(laid, key: key, bytesMax: 1).count == 1)
      }
    }
    #expect(
      body([[Samples.event()]], key: "vh_sk_1").text.utf8.count == outgoing.frameBytes + Samples.event().utf8.count)
  }

  @Test(
    "goes to the same place however its URL ends",
    arguments: ["", "/", "//", "/i/v1", "/i/v1/", "/i/v1/batch", "/i/v1/batch/", "/i/v1/capture"])
  func base(end: String) {
    #expect(outgoing.base(of: "https://ingest.voidhash.com" + end) == "https://ingest.voidhash.com")
    #expect(outgoing.base(of: "http://127.0.0.1:9/x" + end) == "http://127.0.0.1:9/x")
  }

  @Test("goes as the vendor's own SDK sends, unless somebody says something else")
  func defaults() {
    let defaults = outgoing.defaults
    #expect(defaults.url == "https://ingest.voidhash.com")
    #expect(defaults.maxBatchEvents == 100 && defaults.maxBatchBytes == 1_048_576)
    #expect(defaults.linger == .seconds(5) && outgoing.habits.goesWith == 20)
    #expect(defaults.concurrency == 1, "or the order were lost")
    #expect(defaults.retry == RetryDelays(initial: .seconds(1), max: .seconds(30), jitter: 0.25))
    #expect(defaults.timeout == .seconds(15))
    #expect(defaults.perMinute == 0 && defaults.perInstallPerMinute == 0)
    #expect(outgoing.habits.onServerFault == .wait && outgoing.habits.onRefusal == .holdAtOnce)
    #expect(!outgoing.habits.keepsRequestsApart && !outgoing.habits.clampsTime && !outgoing.habits.doubtsCounts)
  }
}
