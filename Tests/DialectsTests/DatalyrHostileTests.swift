import EventsAPI
import JSON
import Testing

@testable import Dialects

@Suite("Datalyr: hostile bodies")
struct DatalyrHostileTests {
  private let hall = DatalyrHall()

  @Test(
    "that are no object of the protocol's are refused with 400, at either route",
    arguments: [
      "", " ", "[]", "7", "\"x\"", "null", "{", "{}", "{\"event\":\"n\"", "\u{FEFF}{}", "{}{}", #"{"event":"n",}"#,
      #"{'event':"n"}"#, #"{"event":"\q"}"#, "{\"event\":\"a\nb\"}", #"{"event":NaN}"#, #"{"events":{}}"#,
      #"{"events":[]}"#, #"{"events":[}"#, #"{"events":[1]}"#, #"{"events":[[]]}"#, #"{"events":[null]}"#,
    ])
  func broken(body: String) {
    for path in ["/track", "/"] {
      let taken = hall.take(body, at: path)
      #expect(taken.fault?.status == 400)
      #expect(taken.events.isEmpty)
      #expect(taken.key == .unknown)
      #expect(taken.envelope.isEmpty)
    }
  }

  @Test("with bytes that are no UTF-8 are refused", arguments: [0x80, 0xC0, 0xED, 0xF5, 0xFF] as [UInt8])
  func notUTF8(byte: UInt8) {
    var body = Array(DatalyrForm.track.event().utf8)
    body[body.count / 2] = byte
    #expect(hall.take(body).fault?.code == "invalid_body")
  }

  @Test("as deep as they are long are read in one pass, and go as they came")
  func deep() {
    let depth = 30_000
    let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let event = DatalyrForm.track.event([.data: #"{"a":\#(deep)}"#])
    #expect(hall.take(event).events == [event])
  }

  @Test("with a key twice count by the last one")
  func repeated() {
    let event = DatalyrForm.track.event(more: #","event":"other""#)
    let taken = hall.take(event)
    #expect(taken.events == [event])
    let padded = Padded(event)
    #expect(taken.accepted.first?.name(in: padded.bytes) == "other")
    #expect(hall.take(DatalyrForm.track.event(more: #","event":7"#)).fault?.code == "invalid_event")
  }

  @Test("of 101 events are refused, and of 100 are not")
  func count() {
    let event = DatalyrForm.web.event()
    #expect(hall.take(datalyrBatch(Array(repeating: event, count: 100)), at: "/").events.count == 100)
    let taken = hall.take(datalyrBatch(Array(repeating: event, count: 101)), at: "/")
    #expect(taken.fault?.status == 400)
    #expect(taken.fault?.message == "\"events\" must hold 1 to 100 events, it holds 101.")
    #expect(taken.key == .key("ws_1"))
  }

  @Test("over their route's limit are refused with 413")
  func tooLong() {
    let long = DatalyrForm.track.event(more: #","x":"\#(String(repeating: "y", count: 70_000))""#)
    #expect(hall.take(long).fault?.status == 413)
    let batch = datalyrBatch([DatalyrForm.web.event(more: #","x":"\#(String(repeating: "y", count: 1 << 20))""#)])
    #expect(hall.take(batch, at: "/").fault?.status == 413)
  }

  @Test("of two workspaces, or of none, are told so")
  func workspaces() {
    func fault(_ second: String?) -> (DatalyrHall.Taken) {
      hall.take(datalyrBatch([DatalyrForm.web.event(), DatalyrForm.web.event(.workspace, second)]), at: "/")
    }
    for other in ["\"ws_2\"", "\"\"", "null", nil] as [String?] {
      let taken = fault(other)
      #expect(taken.key == .unknown)
      #expect(
        taken.fault?.message
          == "\"events[1].workspace_id\" must be the same as \"events[0].workspace_id\": a batch is of one workspace.")
    }
    #expect(fault("7").fault?.message == "\"events[1].workspace_id\" must be a string.")
    #expect(fault(#""ws\u005f1""#).fault == nil)
    for none in ["\"\"", "null", nil] as [String?] {
      let taken = hall.take(datalyrBatch([DatalyrForm.web.event(.workspace, none)]), at: "/")
      #expect(taken.key == .missing)
      #expect(taken.fault == nil)
    }
  }

  @Test("of one route at the other are told where they belong")
  func otherRoute() {
    let batch = hall.take(datalyrBatch([DatalyrForm.web.event()]))
    #expect(batch.fault?.message == "\"event\" is missing, and \"events\" is there: batches of events go to POST /.")
    let single = hall.take(DatalyrForm.track.event(), at: "/")
    #expect(single.fault?.message == "\"events\" is missing, and \"event\" is there: single events go to POST /track.")
  }

  @Test("changed at random are refused or taken whole, and never harm", arguments: DatalyrCapture.all)
  func mutated(capture: DatalyrCapture) {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<400 {
      var body = capture.body
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<body.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: body[place] = UInt8.random(in: 0...255, using: &random)
        case 1: body.remove(at: place)
        default: body.insert(Array(#"{}[]",:\0e"#.utf8).randomElement(using: &random)!, at: place)
        }
      }
      let taken = hall.take(body, at: capture.path)
      #expect((taken.fault == nil) == !taken.events.isEmpty)
      guard taken.fault == nil else { continue }
      let shipment = DatalyrShipment()
      shipment.add(taken)
      let sent = shipment.next()
      #expect(try! JSONValue(parsing: Array(sent.body.utf8)) == JSONValue(parsing: body))
    }
  }
}
