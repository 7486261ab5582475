import Clocks
import EventLog
import EventsAPI
import Testing

@testable import Dialects

@Suite("Datalyr: what its SDKs sent")
struct DatalyrCaptureTests {
  private let hall = DatalyrHall()

  @Test("is taken in whole, and goes upstream byte for byte, to the same path", arguments: DatalyrCapture.all)
  func again(capture: DatalyrCapture) {
    let taken = hall.take(capture.body, at: capture.path)
    #expect(taken.fault == nil)
    let shipment = DatalyrShipment()
    shipment.add(taken)
    let sent = shipment.next()
    #expect(sent.body == capture.text)
    #expect(sent.path == capture.path)
    #expect(shipment.batch.events.isEmpty)
    let marks = capture.isWeb ? "X-Batch-Size: \(capture.headers["x-batch-size"] ?? "?")" : "X-API-Key: dk_out"
    #expect(sent.headers == ["Content-Type: application/json", marks])
  }

  @Test("has its key where the protocol says", arguments: DatalyrCapture.all)
  func key(capture: DatalyrCapture) {
    let incoming = IncomingDatalyr()
    let request = DatalyrRequest(path: capture.path, headers: capture.headers)
    if capture.isWeb {
      #expect(incoming.keyClaim(of: request, IncomingDatalyr.web) == .body)
      #expect(hall.take(capture.body, at: "/").key == .key("ws_1"))
    } else {
      let claim = incoming.keyClaim(of: request, IncomingDatalyr.track)
      #expect(claim == .head(capture.headers["x-api-key"]))
      #expect(capture.headers["x-api-key"]?.hasPrefix("dk_test_") == true)
    }
  }

  @Test("is known by what the log keeps of it: name, persons, id and time", arguments: DatalyrCapture.all)
  func index(capture: DatalyrCapture) throws {
    let taken = hall.take(capture.body, at: capture.path)
    for (event, text) in zip(taken.accepted, taken.events) {
      let padded = Padded(text)
      var event = event
      event.offset = 0
      #expect(event.isOtherForm == capture.isWeb)
      #expect(!event.name(in: padded.bytes).isEmpty)
      #expect(event.anonymousID(in: padded.bytes).hasPrefix("anon_"))
      #expect(event.installHash != 0)
      #expect(event.hasUser == (text.contains(#""userId":"#) || text.contains(#""user_id":""#)))
      #expect(
        event.occurredAt.description.hasPrefix("2026-11-30T06:1") || event.occurredAt.description.hasPrefix("202"))
      let time = String(text[text.utf8.index(text.startIndex, offsetBy: event.occurredAtOffset)...].prefix(20))
      #expect(time.hasPrefix("\"" + event.occurredAt.description.prefix(19)))
    }
  }

  @Test("keeps the ids as they are: a UUID by its numbers, any other text by its hash")
  func ids() throws {
    let uuid = hall.take(try #require(DatalyrCapture.all.first { $0.name == "node-basic-001" }).body)
    let numbers = try #require(EventIDText.numbers("11c99019-81b6-4332-8ac6-3f59f8da04e6"))
    #expect(uuid.accepted.first.map { [$0.idHigh, $0.idLow] } == [numbers.high, numbers.low])
    let text = hall.take(try #require(DatalyrCapture.all.first { $0.name == "rn-server-000" }).body)
    let hash = EventIDText.numbers(ofAny: "rn-evt-1")
    #expect(text.accepted.first.map { [$0.idHigh, $0.idLow] } == [hash.high, hash.low])
  }

  @Test("reads the Swift SDK's time, whose zone has no colon")
  func time() throws {
    let taken = hall.take(try #require(DatalyrCapture.all.first { $0.name == "swift-basic-000" }).body)
    #expect(taken.accepted.first?.occurredAt.description == "2026-11-30T06:12:50.651Z")
    #expect(taken.accepted.first?.isClamped == false)
  }

  @Test("is read again from a record, in either form, with the same knowledge", arguments: DatalyrCapture.all)
  func records(capture: DatalyrCapture) {
    let taken = hall.take(capture.body, at: capture.path)
    for (index, text) in zip(taken.indexes, taken.events) {
      let again = hall.record(text)
      #expect(again.map { EventIndex($0, judgesTime: true) } == index)
      #expect(again?.offset == 0)
    }
  }

  @Test("is answered with 200 and an object")
  func answer() {
    let answer = hall.reader.answer()
    #expect(answer.status == 200)
    #expect(String(decoding: answer.body, as: UTF8.self) == #"{"success":true}"#)
  }
}
