import EventLog
import TestSupport
import Testing

@testable import Delivery

extension Scene {
  /// Stores one request's events in a log, of so many installs by turns.
  func store(
    _ numbers: some Sequence<Int>, app: String, installs: Int, dialect: UInt8 = 0, in log: FileLog
  ) async {
    var body: [UInt8] = Array(#"{"events":["#.utf8)
    var events: [DraftEvent] = []
    for number in numbers {
      if !events.isEmpty { body.append(UInt8(ascii: ",")) }
      let text = #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number)}"#
      let index = EventIndex(
        idHigh: 0, idLow: UInt64(number), installHash: UInt64(number % installs), userHash: 0,
        length: text.utf8.count, nameOffset: 0,
        occurredAtOffset: 0, occurredAt: simulation.wallClock.now, flags: [])
      events.append(DraftEvent(index: index, offset: body.count))
      body += text.utf8
    }
    let outcome = Fact<AppendOutcome?>(nil)
    body.withUnsafeBytes { body in
      events.withUnsafeBufferPointer { events in
        log.append(
          FrameDraft(
            app: app, kind: .event, dialect: dialect, receivedAt: simulation.wallClock.now, body: body, events: events)
        ) { stored in outcome.change { $0 = stored } }
      }
    }
    let stored = await outcome.wait { $0 != nil }
    guard case .stored? = stored ?? nil else {
      Issue.record("not stored: \(String(describing: stored))")
      return
    }
  }

  /// Puts events that carry these numbers into the upstream's queue of a log, as numbers of that log that are gone by now.
  func replay(_ numbers: Range<Int>, app: String, dialect: UInt8 = 0, in log: FileLog) throws {
    let chunk = ReplayChunk()
    for number in numbers {
      let text = #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number)}"#
      let index = EventIndex(
        idHigh: 0, idLow: UInt64(number), installHash: 0, userHash: 0, length: text.utf8.count, nameOffset: 0,
        occurredAtOffset: 0, occurredAt: simulation.wallClock.now, flags: [])
      let event = StoredEvent(
        sequence: 1, index: index, kind: .event, dialect: dialect, receivedAt: simulation.wallClock.now, appIndex: 0,
        offset: 0, original: UInt64(number))
      Array(text.utf8).withUnsafeBytes { chunk.add(event, app: app, bytes: $0) }
    }
    let queue = try log.replayQueue(of: "upstream")
    #expect(try queue.put(chunk, note: [:]).stored == numbers.count)
    try queue.settle(putBack: Tally())
  }
}
