import Clocks
import DeadLetters
import Dialects
import Dispatch
import EventLog
import EventsAPI
import HTTPClient
import Records
import TestSupport
import Testing

@testable import Replay

@Suite("Past events of several protocols")
final class ProtocolReplayTests {
  private let fixture: Fixture
  private let upstream: any Subscription
  private let batch = EventBatch()

  init() throws {
    fixture = try Fixture()
    upstream = try fixture.log.subscribe("upstream", origin: .oldest)
  }

  static func web(_ number: Int) -> String {
    #"{"event_id":"web-\#(number)","event_name":"purchase","anonymous_id":"anon_1","workspace_id":"ws_1","#
      + #""timestamp":"2026-10-23T06:04:31.512Z","event_data":{"price":39.990}}"#
  }

  static func track(_ number: Int) -> String {
    #"{"event":"opened","eventId":"order-\#(number)","anonymousId":"anon_1","timestamp":"2020-01-01T00:00:00+0000","#
      + #""properties":{},"context":{}}"#
  }

  static func voidhash(_ number: Int) -> String {
    #"{"uuid":"u-\#(number)","event":"opened","distinct_id":"vh:anon:1","properties":{},"context":{},"#
      + #""timestamp":"2020-01-01T00:00:00.000Z"}"#
  }

  static func webBody(_ numbers: Range<Int>, id: String = "b") -> String {
    #"{ "batchId":"\#(id)","events":[\#(numbers.map(web).joined(separator: ","))], "timestamp":"2026-10-23T06:04:31.512Z"}"#
  }

  /// A request as its sender made it.
  private struct Request: IncomingRequest {
    let method = "POST"
    let path: String
    func header(_ name: StaticString) -> String? { nil }
  }

  /// Stores what a request brings, with what comes around its events.
  private func store(_ body: String, _ path: String, app: String) throws {
    let served = DialectRegistry.all.flatMap { dialect in dialect.incoming.routes.map { (dialect, $0) } }
    let (dialect, route) = try #require(served.first { $0.1.path == path })
    let reader = dialect.incoming.makeReader()
    let padded = Array(body.utf8) + [UInt8](repeating: 0, count: 64)
    padded.withUnsafeBytes { padded in
      let fault = reader.read(
        UnsafeRawBufferPointer(rebasing: padded[..<body.utf8.count]), of: Request(path: path), route,
        receivedAt: Fixture.time, judgesTime: false)
      #expect(fault == nil && !reader.accepted.isEmpty)
      let drafts = reader.accepted.map { DraftEvent(index: EventIndex($0, judgesTime: true), offset: $0.offset) }
      let done = DispatchSemaphore(value: 0)
      drafts.withUnsafeBufferPointer { drafts in
        fixture.log.append(
          FrameDraft(
            app: app, kind: reader.kind, dialect: dialect.number, receivedAt: Fixture.time, body: reader.storedBody,
            events: drafts, envelope: reader.envelope)
        ) { _ in done.signal() }
      }
      done.wait()
    }
  }

  private func settle(_ apps: String...) throws {
    for app in apps {
      let waiting = upstream.pending(.app(app)).events
      upstream.acknowledge(.app(app), 1...fixture.log.statistics.nextSequence, Tally(.delivered, waiting))
    }
    try upstream.commit(attachment: nil)
    try fixture.settle()
  }

  private func request(to destination: String = "upstream", _ source: ReplayRequest.Source = .log) -> ReplayRequest {
    ReplayRequest(destination: destination, source: source)
  }

  /// The bodies that an app's replayed events go upstream in.
  private func bodies(_ app: String, of name: String, key: String = "vh_pk_1") throws -> [String] {
    let outgoing = try #require(DialectRegistry.dialect(named: name)).outgoing
    let limit = ReadLimit(
      events: 100, bytes: 1 << 20, separatesRequests: outgoing.habits.keepsRequestsApart)
    var bodies: [String] = []
    upstream.rewind(.replayed(app))
    while try upstream.read(.replayed(app), limit: limit, into: batch) {
      let body = RequestBody()
      while !batch.events.isEmpty {
        let count = outgoing.fill(body, from: batch, key: key, now: Fixture.time, bytesMax: 1 << 20)
        bodies.append(String(decoding: UnsafeRawBufferPointer(rebasing: body.bytes[..<body.count]), as: UTF8.self))
        let gone = Set(batch.events[..<count].map(\.sequence))
        batch.keep { !gone.contains($0.sequence) }
      }
    }
    return bodies
  }

  @Test("go out again from the log as they came, a web batch whole with what was around it", arguments: [nil, 20])
  func fromLog(rate: Int?) throws {
    try store(Self.webBody(0..<7), "/", app: "web")
    try store(Self.webBody(7..<9, id: "c"), "/", app: "web")
    try store(Self.track(1), "/track", app: "web")
    try settle("web")
    fixture.spoken.change { $0 = ["web": 1] }
    let desk = ReplayDesk(fixture.room)
    var request = request()
    request.rate = rate
    let id = try desk.start(request, by: "test").id
    // Somebody takes what is in the queue, as the upstream's engine does.
    var taken: [String] = []
    while try !desk.status(id).state.isOver || upstream.pending(.replayed("web")).events > 0 {
      let bodies = try bodies("web", of: "datalyr")
      taken += bodies
      let events = upstream.pending(.replayed("web")).events
      if events > 0 { upstream.acknowledge(.replayed("web"), 1...1000, Tally(.delivered, events)) }
      desk.waitForChange()
    }
    #expect(taken == [Self.webBody(0..<7), Self.webBody(7..<9, id: "c"), Self.track(1)])
    #expect(try desk.status(id).sent == 10)
    desk.close()
  }

  @Test("keep their protocol, form and person in the queue, whatever else is sent again with them")
  func mixed() throws {
    try store(Self.webBody(0..<2), "/", app: "web")
    try store(#"{"events":[\#(Self.voidhash(1)),\#(Self.voidhash(2))]}"#, "/i/v1/batch", app: "game")
    fixture.append(0..<2)
    try settle("web", "game", "ios")
    #expect(try fixture.run(request()).sent == 6)
    var found: [String: [(UInt8, Bool)]] = [:]
    for app in ["web", "game", "ios"] {
      while try upstream.read(.replayed(app), limit: ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
        found[app, default: []] += batch.events.map { ($0.dialect, $0.index.flags.contains(.otherForm)) }
      }
    }
    #expect(found["web"]?.map(\.0) == [1, 1] && found["web"]?.map(\.1) == [true, true])
    #expect(found["game"]?.map(\.0) == [2, 2] && found["game"]?.map(\.1) == [false, false])
    #expect(found["ios"]?.map(\.0) == [0, 0])
    let voidhash = try bodies("game", of: "voidhash")
    #expect(voidhash.count == 1 && voidhash[0].contains("[\(Self.voidhash(1)),\(Self.voidhash(2))]"))
  }

  @Test("are refused to an upstream that is spoken to by another protocol now, and sent to sinks all the same")
  func misfits() throws {
    try store(Self.track(1), "/track", app: "web")
    fixture.append(0..<2)
    try settle("web", "ios")
    fixture.spoken.change { $0 = ["web": 2, "ios": 0] }
    for isDryRun in [true, false] {
      let status = try fixture.run(request(), isDryRun: isDryRun)
      #expect(status.state == .failed && status.sent == 0)
      #expect(
        status.error
          == "events of app web came by datalyr, and that app speaks voidhash now: its upstream can't take them; give the app "
          + "\"protocol: datalyr\" again, or leave those events out by their app or time")
    }
    #expect(upstream.pending.events == 0)
    // A sink's lines say what they are; other apps' events go; and once it speaks the protocol again, all do.
    #expect(try fixture.run(request(to: "raw")).sent == 3)
    var others = request()
    others.apps = ["ios"]
    #expect(try fixture.run(others).sent == 2)
    fixture.spoken.change { $0["web"] = 1 }
    #expect(try fixture.run(request()).sent == 3)
    // An app that is gone speaks nothing: its events wait, as new ones would.
    fixture.spoken.change { $0 = ["ios": 0] }
    #expect(try fixture.run(request(), isDryRun: true).matched == 3)
  }

  @Test("that change their protocol while they are put in stop the replay there, and it goes on when it is set back")
  func misfitMeanwhile() throws {
    for number in 0..<20 { try store(Self.track(number), "/track", app: "web") }
    try settle("web")
    fixture.spoken.change { $0 = ["web": 1] }
    let desk = ReplayDesk(fixture.room)
    var slow = request()
    slow.rate = 1
    let id = try desk.start(slow, by: "test").id
    while try desk.status(id).sent < 1 { desk.waitForChange() }
    _ = try desk.stop(id)
    fixture.spoken.change { $0 = ["web": 2] }
    let again = try fixture.run(request(), desk)
    #expect(again.state == .failed && again.error?.contains("speaks voidhash now") == true)
    fixture.spoken.change { $0 = ["web": 1] }
    let rest = try fixture.run(request(), desk)
    #expect(rest.state == .done && rest.sent == 20)
    desk.close()
  }

  @Test("are counted as too old only where the upstream gives them another time")
  func clamped() throws {
    try store(Self.track(1), "/track", app: "web")
    try store(#"{"events":[\#(Self.voidhash(1))]}"#, "/i/v1/batch", app: "game")
    fixture.append(0..<1)
    try settle("web", "game", "ios")
    // (Of the first protocol's event the date is October's, and the clock is the system's.)
    #expect(try fixture.run(request(), isDryRun: true).clamped == 1)
    #expect(try fixture.run(request(to: "raw"), isDryRun: true).clamped == 0)
  }

  @Test("come back from a record's line with their protocol and form, without what was around them")
  func records() throws {
    let lines = RecordLines(relay: "r-1")
    for (name, text, isOther) in [
      ("datalyr", Self.track(1), false), ("datalyr", Self.web(1), true), ("voidhash", Self.voidhash(1), false),
    ] {
      let dialect = try #require(DialectRegistry.dialect(named: name))
      let reader = dialect.incoming.makeReader()
      let padded = Array(text.utf8) + [UInt8](repeating: 0, count: 64)
      try padded.withUnsafeBytes { padded in
        let bytes = UnsafeRawBufferPointer(rebasing: padded[..<text.utf8.count])
        let accepted = try #require(reader.readRecord(bytes, kind: .event, receivedAt: Fixture.time))
        let event = StoredEvent(
          sequence: 7, index: EventIndex(accepted, judgesTime: true), kind: .event, dialect: dialect.number,
          receivedAt: Fixture.time, appIndex: 0, offset: 0)
        lines.removeAll()
        lines.append(event, app: "web", bytes: bytes)
        let parser = RecordParser()
        let found = try #require(parser.parse(lines.bytes))
        #expect(found.event.dialect == dialect.number && found.event.index == event.index)
        #expect(found.event.index.flags.contains(.otherForm) == isOther)
        #expect(String(decoding: found.bytes, as: UTF8.self) == text && found.event.envelope.isEmpty)
      }
    }
  }

  @Test("put back from the dead letters are what they were")
  func letters() throws {
    try fixture.bury(Self.web(1), by: "datalyr", app: "web")
    try fixture.bury(Self.voidhash(1), by: "voidhash", app: "game")
    let reader = DeadLetterReader(directory: fixture.letters.directory)
    for (id, name) in [("web-1", "datalyr"), ("u-1", "voidhash")] {
      let found = try #require(try reader.show(.init(id)))
      #expect(found.letter.protocolName == name && found.letter.eventID == id)
      #expect(found.letter.json["protocol"]?.string == name)
      #expect(String(decoding: found.line, as: UTF8.self).contains(#""protocol":"\#(name)""#))
      let sought = try #require(SoughtID(id))
      let letters = try reader.find(sought, until: .now + .seconds(60)).letters
      #expect(letters.map(\.eventID) == [id])
    }
    #expect(try reader.show(.init("WEB-1")) == nil, "an id that is no UUID is found as it was sent alone")
    #expect(try reader.show(.init("web:1")) == nil, "an id, though it looks like a place")
    #expect(try fixture.run(fixture.request(.deadLetters)).sent == 2)
    var found: [(UInt8, Bool)] = []
    while try fixture.sink.read(.allReplayed, limit: ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      found += batch.events.map { ($0.dialect, $0.index.flags.contains(.otherForm)) }
    }
    #expect(found.map(\.0) == [1, 2] && found.map(\.1) == [true, false])
  }
}
