import Clocks
import EventLog
import JSON
import Testing

@testable import Dialects

@Suite("Datalyr: what goes upstream")
struct DatalyrSendingTests {
  private let hall = DatalyrHall()
  private let shipment = DatalyrShipment()

  private func web(_ id: String, more: String = "") -> String {
    DatalyrForm.web.event([.id: "\"\(id)\""], more: more)
  }

  private func batchID(of body: String) throws -> String {
    try #require(try JSONValue(parsing: Array(body.utf8))["batchId"]?.string)
  }

  @Test("is one event a request to /track, however many wait")
  func single() {
    let events = (0..<3).map { DatalyrForm.track.event([.id: "\"\($0)\""]) }
    for event in events { shipment.add(hall.take(event)) }
    for event in events {
      let sent = shipment.next()
      #expect(sent.count == 1 && sent.body == event && sent.path == "/track")
    }
    #expect(shipment.batch.events.isEmpty)
  }

  @Test("is the object alone, without blanks around it")
  func blanks() {
    let event = DatalyrForm.track.event()
    shipment.add(hall.take(" \n\(event)\r\n"))
    #expect(shipment.next().body == event)
  }

  @Test(
    "is a web batch byte for byte, whatever stands around its events",
    arguments: [
      #"{"events":[@],"batchId":"b","timestamp":"t"}"#, #"{"batchId":"b","timestamp":"t","events":[@]}"#,
      #" { "x" : [1, 2], "events" : [ @ ] , "batchId" : 7 } "#, #"{"events":[@]}"#,
      #"{"batchId":"b\"]}","e\u0076ents":[@],"y":{"events":[],"batchId":0}}"#,
    ])
  func whole(form: String) {
    let body = form.replacing("@", with: [web("1"), web("2"), web("3")].joined(separator: ","))
    let taken = hall.take(body, at: "/")
    #expect(taken.fault == nil)
    shipment.add(taken)
    let sent = shipment.next()
    #expect(sent.body == body)
    #expect(sent.headers == ["Content-Type: application/json", "X-Batch-Size: 3"])
  }

  @Test("is a web batch with no blanks between its events, all else as it came")
  func blanksBetween() {
    let body = "{\"a\":1,\"events\":[ \(web("1")) ,\n \(web("2"))\t],\"batchId\":\"b\"}"
    shipment.add(hall.take(body, at: "/"))
    #expect(shipment.next().body == "{\"a\":1,\"events\":[ \(web("1")),\(web("2"))\t],\"batchId\":\"b\"}")
  }

  @Test("is only what counts of a body with members twice")
  func repeated() {
    let secret = web("secret")
    let body = #"{"events":[\#(secret)],"batchId":1,"events":[\#(web("1"))],"x":2,"batchId":"b","timestamp":null}"#
    let taken = hall.take(body, at: "/")
    #expect(taken.events == [web("1")])
    #expect(!String(decoding: taken.envelope, as: UTF8.self).contains("secret"))
    shipment.add(taken)
    #expect(shipment.next().body == #"{"events":[\#(web("1"))],"batchId":"b","timestamp":null}"#)
    shipment.add(hall.take(#"{"events":0,"events":[\#(web("1"))]}"#, at: "/"))
    #expect(shipment.next().body == #"{"events":[\#(web("1"))]}"#)
  }

  @Test("is, of a web batch in parts, the same body around each part, with ids of their own that stay the same")
  func parts() throws {
    for form in [#"{"x":1,"batchId":"b-1","events":[@],"y":2}"#, #"{"x":1,"events":[@],"batchId":"b-1","y":2}"#] {
      let events = (0..<5).map { web("\($0)") }
      let taken = hall.take(form.replacing("@", with: events.joined(separator: ",")), at: "/")
      var ids = ["b-1"]
      for part in [0..<2, 2..<5, 0..<1, 0..<4, 1..<2] {
        shipment.add(taken, part)
        let sent = shipment.next()
        let id = try batchID(of: sent.body)
        #expect(sent.count == part.count)
        #expect(sent.headers.last == "X-Batch-Size: \(part.count)")
        #expect(
          sent.body == form.replacing("@", with: events[part].joined(separator: ",")).replacing("b-1", with: id))
        #expect(id.utf8.count == 36 && Array(id)[14] == "8")
        ids.append(id)
        shipment.add(taken, part)
        #expect(shipment.next().body == sent.body)
      }
      #expect(Set(ids).count == ids.count)
    }
  }

  @Test("is a web batch as it came, and in parts without an id, where it has none")
  func withoutID() {
    let taken = hall.take(#"{"events":[\#(web("1")),\#(web("2"))]}"#, at: "/")
    shipment.add(taken, 1..<2)
    #expect(shipment.next().body == #"{"events":[\#(web("2"))]}"#)
  }

  @Test("is cut where it would grow too long, and a single event goes, however large")
  func bytesMax() {
    let events = (0..<4).map { web("\($0)") }
    let body = datalyrBatch(events)
    let taken = hall.take(body, at: "/")
    shipment.add(taken)
    #expect(shipment.next(bytesMax: body.utf8.count).body == body)
    shipment.add(taken)
    let first = shipment.next(bytesMax: body.utf8.count - 1)
    #expect((1...3).contains(first.count) && first.body.utf8.count < body.utf8.count)
    var sent = first.count
    while !shipment.batch.events.isEmpty {
      let next = shipment.next(bytesMax: 1)
      #expect(next.count == 1)
      sent += next.count
    }
    #expect(sent == 4)
  }

  @Test("has, of a web event from an archive, a body made for it alone")
  func fromArchive() throws {
    let taken = hall.take(datalyrBatch([web("1"), web("2")]), at: "/")
    shipment.add(taken, hasEnvelope: false)
    let (first, second) = (shipment.next(), shipment.next())
    let id = try batchID(of: first.body)
    #expect(first.count == 1 && second.count == 1)
    #expect(
      first.body == #"{"events":[\#(web("1"))],"batchId":"\#(id)","timestamp":"2026-10-23T12:04:31.512Z"}"#)
    #expect(first.headers.last == "X-Batch-Size: 1")
    #expect(try batchID(of: second.body) != id)
    shipment.add(taken, hasEnvelope: false)
    #expect(shipment.next().body == first.body)
  }

  @Test("never joins events of different requests or forms, in whatever order they wait")
  func apart() {
    let one = hall.take(datalyrBatch([web("1"), web("2")]), at: "/")
    let other = hall.take(datalyrBatch([web("3")]).replacing("b-1", with: "b-2"), at: "/")
    let single = hall.take(DatalyrForm.track.event())
    for taken in [one, other, single, one] { shipment.add(taken) }
    #expect([shipment.next(), shipment.next(), shipment.next(), shipment.next()].map(\.count) == [2, 1, 1, 2])
  }

  @Test("doesn't trust an envelope that it didn't write", arguments: 0..<40)
  func damagedEnvelope(place: Int) {
    var taken = hall.take(datalyrBatch([web("1"), web("2")]), at: "/")
    let whole = taken.envelope
    for byte in [0x00, 0x7F, 0xFF] as [UInt8] {
      taken.envelope = whole
      taken.envelope[place] = byte
      shipment.add(taken)
      while !shipment.batch.events.isEmpty { #expect(shipment.next().body.contains("\"e")) }
    }
    taken.envelope = Array(whole[..<place])
    shipment.add(taken)
    while !shipment.batch.events.isEmpty { #expect(shipment.next().body.contains("\"events\":[")) }
  }

  @Test(
    "goes to the base that a URL means",
    arguments: [
      "https://ingest.datalyr.com", "https://ingest.datalyr.com/", "https://ingest.datalyr.com/track",
      "https://ingest.datalyr.com/track/", "https://ingest.datalyr.com//track//",
    ])
  func base(url: String) {
    #expect(shipment.outgoing.base(of: url) == "https://ingest.datalyr.com")
  }

  @Test("keeps a path that isn't the protocol's")
  func otherBase() {
    #expect(shipment.outgoing.base(of: "https://proxy.example/datalyr/track") == "https://proxy.example/datalyr")
    #expect(shipment.outgoing.base(of: "https://proxy.example/my-track") == "https://proxy.example/my-track")
    #expect(shipment.outgoing.base(of: "http://127.0.0.1:1/backtrack/") == "http://127.0.0.1:1/backtrack")
  }

  @Test("goes by the vendor's numbers unless told otherwise")
  func defaults() {
    let defaults = shipment.outgoing.defaults
    #expect(defaults.url == "https://ingest.datalyr.com")
    #expect(defaults.timeout == .seconds(15) && defaults.linger == .zero)
    #expect(defaults.perMinute == 100 && defaults.margin == 0 && defaults.perInstallPerMinute == 0)
    #expect(defaults.retry == RetryDelays(initial: .seconds(1), max: .seconds(30), jitter: 1))
    let habits = shipment.outgoing.habits
    #expect(habits.keepsRequestsApart && habits.limitUnit == .requests && habits.onServerFault == .stepAside)
    #expect(!habits.clampsTime && !habits.doubtsCounts && !habits.limitsInstalls && habits.goesWith == nil)
  }
}
