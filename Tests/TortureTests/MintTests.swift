import Clocks
import EventLog
import Testing

@testable import Torture

@Suite("The events of a torture run")
struct MintTests {
  private let mint = EventMint(seed: 3, start: Timestamp(milliseconds: 1_796_000_000_000))

  @Test("each has the same bytes each time, and an id that leads back to its number")
  func same() {
    let again = EventMint(seed: 3, start: mint.start)
    var ids: Set<String> = []
    for number in 0..<500 {
      #expect(mint.bytes(number) == again.bytes(number))
      #expect(mint.number(ofID: mint.id(number)) == number)
      #expect(mint.number(ofUser: mint.user(number)) == number)
      ids.insert(mint.id(number).lowercased())
    }
    #expect(ids.count == 500)
  }

  @Test("another run's ids are nobody's here")
  func others() {
    let other = EventMint(seed: 4, start: mint.start)
    #expect(
      (0..<100).allSatisfy { mint.number(ofID: other.id($0)) == nil && mint.number(ofUser: other.user($0)) == nil })
  }

  @Test("line breaks between tokens are spaces in a line, and nothing else changes")
  func oneLine() {
    for number in 0..<200 {
      let (event, line) = (mint.bytes(number), mint.bytesOnOneLine(number))
      #expect(!line.contains(0x0A) && !line.contains(0x0D) && line.count == event.count)
      #expect(zip(event, line).allSatisfy { $0 == $1 || ($1 == 0x20 && ($0 == 0x0A || $0 == 0x0D)) })
    }
  }

  @Test("another occurred_at is seen as such, and no other change is taken for it")
  func clamped() throws {
    let event = mint.bytes(0)
    let place = try #require(EventMint.occurredAt(in: event))
    let changed = event[..<place.lowerBound] + Array(#""2026-11-30T12:00:00.000Z""#.utf8) + event[place.upperBound...]
    #expect(ScriptedUpstream.clampedTime(of: Array(changed), event) == "2026-11-30T12:00:00.000Z")
    #expect(ScriptedUpstream.clampedTime(of: Array(changed.dropLast()) + [0x20, 0x7D], event) == nil)
  }

  @Test("values are found in JSON as they stand there")
  func cuts() {
    let text = Array(#" { "a" : [1, "]\"," , {"b":[]}] ,"c":"x" , "c": -1e2 }"#.utf8)
    text.withUnsafeBytes { bytes in
      func string(_ range: Range<Int>?) -> String? { range.map { String(decoding: bytes[$0], as: UTF8.self) } }
      let array = JSONCutter.value("a", bytes, in: 0..<bytes.count)
      #expect(string(array) == #"[1, "]\"," , {"b":[]}]"#)
      #expect(array.map { JSONCutter.elements(bytes, in: $0).map { string($0) } } == ["1", #""]\",""#, #"{"b":[]}"#])
      #expect(string(JSONCutter.value("c", bytes, in: 0..<bytes.count)) == "-1e2")
      #expect(JSONCutter.value("d", bytes, in: 0..<bytes.count) == nil)
    }
  }

  @Test("a signature is right only for its body and key")
  func signatures() {
    // Computed with another HMAC.
    let request = WireServer.Request(
      path: "/hook",
      headers: [
        "webhook-id": "msg_1", "webhook-timestamp": "1700000000",
        "webhook-signature": "v1,slFVMfeYWJQoqHklR/PYKsitwEHixpXYrLQSLejVMEA=",
      ], body: Array("{}".utf8))
    #expect(ScriptedReceiver.isSigned(request))
    var other = request
    other.body = Array("{ }".utf8)
    #expect(!ScriptedReceiver.isSigned(other))
  }
}
