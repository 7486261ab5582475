import Clocks
import DeadLetters
import EventLog
import JSON
import Records
import TestSupport
import Testing

@testable import Replay

@Suite("The desk for replays")
struct ReplayDeskTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test("sends what the log has and the destination isn't owed, by name, app and time, with its first numbers")
  func fromLog() throws {
    fixture.append(0..<50)
    fixture.append(50..<60, name: "paid")
    fixture.append(60..<70, at: Fixture.time + .seconds(60))
    fixture.sink.acknowledge(.all, 1...65, Tally(.delivered, 65))
    try fixture.sink.commit(attachment: nil)
    var request = fixture.request()
    request.names = ["seen"]
    let status = try fixture.run(request)
    #expect(status.state == .done && status.matched == 55 && status.sent == 55)
    #expect(try fixture.replayed() == Array(1...50) + Array(61...65))
    request.since = Fixture.time + .seconds(1)
    #expect(try fixture.run(request, isDryRun: true).matched == 5)
    request.until = Fixture.time + .seconds(60)
    #expect(try fixture.run(request, isDryRun: true).matched == 0)
    request = fixture.request()
    request.apps = ["web"]
    #expect(try fixture.run(request).sent == 0)
    #expect(fixture.audited.value == ["replay by test", "replay by test"])
    #expect(fixture.sink.ledger.isBalanced)
  }

  @Test("refuses what makes no sense, and says why")
  func refusals() throws {
    let desk = ReplayDesk(fixture.room)
    func words(_ destination: String, _ source: ReplayRequest.Source = .log) -> String {
      do throws(ReplayError) {
        return "\(try desk.start(ReplayRequest(destination: destination, source: source), by: "test"))"
      } catch {
        return error.description
      }
    }
    #expect(words("nobody") == "there is no destination nobody; there are audit, raw, upstream")
    #expect(words("audit").contains("is an archive: each event is in it once"))
    #expect(words("raw", .archive("/nowhere/at/all")).contains("there is no directory /nowhere/at/all"))
    #expect(fixture.audited.value.isEmpty, "nothing was done")
  }

  @Test("lets only so much wait in the queue, has one replay a destination, and goes on after a stop")
  func stopped() throws {
    fixture.append(0..<200)
    try fixture.settle()
    let desk = ReplayDesk(fixture.room)
    var slow = fixture.request()
    slow.rate = 1000
    slow.names = ["seen"]
    var limited = slow
    limited.rate = 10
    let id = try desk.start(limited, by: "test").id
    while try desk.status(id).sent < 10 { desk.waitForChange() }
    #expect(throws: ReplayError.self) { try desk.start(fixture.request(), by: "test") }
    #expect(try desk.start(limited, by: "test").id == id, "the same one is only shown")
    let status = try desk.stop(id)
    #expect(status.state == .stopped)
    #expect((10...12).contains(status.sent), "nobody takes any: no more than a second's worth waits")
    #expect(try fixture.replayed().count == status.sent)
    // Somebody takes them.
    fixture.sink.acknowledge(.allReplayed, 1...200, Tally(.delivered, status.sent))
    let rest = try fixture.run(fixture.requestAsBefore(slow), desk)
    #expect(rest.state == .done && rest.sent == 200 && rest.sentBefore == status.sent)
    #expect(try fixture.replayed() == Array(UInt64(status.sent + 1)...200))
  }

  @Test("closed, it takes none")
  func closed() async throws {
    let desk = ReplayDesk(fixture.room)
    await desk.stop()
    #expect(throws: ReplayError.self) { try desk.start(fixture.request(), by: "test") }
  }

  /// How far a put had come when the process ended.
  enum Moment: CaseIterable {
    case noted, stored, marked, recorded
  }

  @Test("a crash at any moment of a put loses no dead letter and puts none back twice", arguments: Moment.allCases)
  func crashed(at moment: Moment) throws {
    try fixture.bury(1..<41)
    let request = fixture.request(.deadLetters)
    let queue = try fixture.log.replayQueue(of: "raw")
    var record = ReplayRecord(request, begun: Fixture.time + .seconds(1), logEnd: 1, owed: nil)
    record.matched = 40
    try fixture.room.files.write(record)
    try interrupt(moment, queue, &record)

    try fixture.reopen()
    let desk = ReplayDesk(fixture.room)
    #expect(try fixture.log.replayQueue(of: "raw").unsettled == nil)
    let status = try fixture.run(request, desk)
    #expect(status.state == .done && status.sent == 40)
    #expect(try fixture.replayed() == Array(1...40))
    let ledger = fixture.sink.ledger
    #expect(ledger.putBack == Tally(.rejected, 40) && ledger.replayed == 40 && ledger.isBalanced)
    // Anew: nothing is left to put back.
    #expect(try fixture.run(request, desk).matched == 0)
    #expect(try fixture.replayed().count == 40)
  }

  /// Puts the first 15 letters back, up to a moment.
  private func interrupt(_ moment: Moment, _ queue: ReplayQueue, _ record: inout ReplayRecord) throws {
    let source = try fixture.room.source(of: record)
    let chunk = ReplayChunk()
    var places = ReplayPlaces()
    _ = try source.forEach(after: nil, goesOn: { true }) { candidate in
      chunk.add(candidate.event, app: candidate.app, bytes: candidate.bytes)
      places.add(candidate.place, candidate.reason)
      return chunk.count < 15
    }
    let note = record.note(places)
    if moment == .noted {
      let json: JSONValue = [
        "format": "event-relay-replays", "version": 1, "put_back": [:],
        "intent": ["next": 1, "count": 15, "note": note],
      ]
      _ = fixture.directory.write("replays/raw/journal.json", json.description)
      return
    }
    #expect(try queue.put(chunk, note: note).stored == 15)
    if moment == .stored { return }
    let put = try #require(ReplayPut(note, stored: 15))
    let run = try #require(put.stored.runs.first)
    var lines = LineSet()
    lines.insert(Int(run.numbers.lowerBound)...Int(run.numbers.upperBound))
    try fixture.letters.markReplayed(lines, of: run.file)
    if moment == .marked { return }
    record.take(put)
    try fixture.room.files.write(record)
  }

  @Test("letters that aren't on record yet, or given up after the replay began, are left alone")
  func uncommitted() throws {
    try fixture.bury(1..<4)
    let before = try #require(fixture.sink.attachment)
    try fixture.bury(4..<6)
    try fixture.sink.commit(attachment: before)
    #expect(try fixture.run(fixture.request(.deadLetters)).sent == 3)
    #expect(try fixture.replayed() == [1, 2, 3])
  }

  @Test("letters whose destination is gone are told of, and none is put back")
  func missingDestination() throws {
    try fixture.bury(1..<4)
    let name = try #require(try DeadLetterReader(directory: fixture.letters.directory).files().first)
    let text = String(decoding: readFile(fixture.directory.file("dead-letters/\(name)")) ?? [], as: UTF8.self)
    _ = fixture.directory.write(
      "dead-letters/20261130T070000.000Z-gone.ndjson",
      text.replacing(#""destination":"raw""#, with: #""destination":"gone""#))
    let desk = ReplayDesk(fixture.room)
    let error = #expect(throws: ReplayError.self) {
      try desk.startDeadLetters(
        DeadLetterFilter(), fixture.request(.deadLetters), isDryRun: false, by: "test")
    }
    #expect(error?.description.contains("there are dead letters of gone, which is configured no longer") == true)
    #expect(try fixture.replayed().isEmpty)
    let one = try desk.startDeadLetters(
      DeadLetterFilter(destination: "raw"), fixture.request(.deadLetters), isDryRun: false, by: "test")
    #expect(one.map(\.destination) == ["raw"])
    desk.close()
  }
}

extension Fixture {
  /// The same wish with another rate.
  func requestAsBefore(_ request: ReplayRequest) -> ReplayRequest {
    var request = request
    request.rate = nil
    return request
  }
}
