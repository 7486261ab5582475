import Clocks
import EventLog
import Observability
import Records
import TestSupport
import Testing

@testable import Relay

@Suite("Removed sinks")
struct RemovedSinkTests {
  private let directory = TemporaryDirectory()
  private let start = Timestamp(milliseconds: 1_800_000_000_000)
  private static let day: Duration = .seconds(86_400)

  private func book() throws -> RemovedSinkBook { try RemovedSinkBook(directory: directory.path, logger: .silent) }

  @Test("keep their time over restarts, from when they were first seen to be gone, and what they hold from then")
  func remembered() throws {
    let first = try book()
    #expect(first.note("raw", now: start, next: 12) == .init(removedAt: start, heldBefore: 12))
    #expect(first.note("raw", now: start + Self.day, next: 99) == .init(removedAt: start, heldBefore: 12))
    _ = first.note("hook", now: start + Self.day, next: 40)
    let second = try book()
    #expect(second.entry("raw")?.removedAt == start && second.entry("hook")?.heldBefore == 40)
    second.forget(["raw"])
    second.forget(["never"])
    let third = try book()
    #expect(third.entry("raw") == nil && third.entry("hook") != nil)
    #expect(third.note("raw", now: start + Self.day, next: 50).removedAt == start + Self.day)
  }

  @Test("have their books closed on disk before their record goes, and are counted once")
  func givenUp() throws {
    let first = try book()
    _ = first.note("hook", now: start, next: 40)
    let ledger = Ledger(accepted: 20, settled: Tally([.delivered: 10, .droppedRemoved: 3]), waiting: 7)
    try first.giveUp("hook", at: start + Self.day, ledger)
    // What a crash before the record is gone leaves.
    let second = try book()
    #expect(second.closed == ["hook"] && second.droppedEvents == 7)
    let shown = try #require(second.givenUp.first)
    #expect(shown["name"]?.string == "hook" && shown["at"]?.string == (start + Self.day).description)
    #expect(shown["ledger"]?["waiting"]?.integer() == 0 && shown["ledger"]?["dropped"]?.integer() == 10)
    #expect(shown["ledger"]?["dropped_reasons"]?["removed"]?.integer() == 10)
    second.forget(["hook"])
    let third = try book()
    #expect(third.closed.isEmpty && third.droppedEvents == 7 && third.givenUp == second.givenUp)
    for number in 0..<150 { try third.giveUp("s\(number)", at: start, ledger) }
    #expect(try book().givenUp.count == RemovedSinkBook.givenUpMax && book().droppedEvents == 7 + 150 * 7)
  }

  @Test("stay open when that can't be written")
  func unwritable() throws {
    let book = try RemovedSinkBook(directory: directory.path + "/none", logger: .silent)
    #expect(throws: FileError.self) {
      try book.giveUp("hook", at: start, Ledger(accepted: 1, settled: Tally(), waiting: 1))
    }
    #expect(book.closed.isEmpty && book.droppedEvents == 0 && book.givenUp.isEmpty)
  }

  @Test("a damaged list counts from now, an older one is read, a newer program's is refused with both versions")
  func unreadable() throws {
    _ = directory.write(RemovedSinkBook.fileName, "{\"format\":")
    #expect(try book().entry("raw") == nil)
    _ = directory.write(
      RemovedSinkBook.fileName,
      "{\"format\":\"event-relay-removed-sinks\",\"version\":1,\"dropped_events\":2,"
        + "\"sinks\":[{\"name\":\"raw\",\"removed_at_ms\":\(start.milliseconds)}]}")
    let older = try book()
    #expect(older.entry("raw") == .init(removedAt: start) && older.droppedEvents == 2)
    // What it holds is known from now on; its time goes on.
    #expect(older.note("raw", now: start + Self.day, next: 9) == .init(removedAt: start, heldBefore: 9))
    _ = directory.write(
      RemovedSinkBook.fileName, "{\"format\":\"event-relay-removed-sinks\",\"version\":3,\"sinks\":[]}")
    let error = #expect(throws: RelayError.self) { try book() }
    #expect(error?.description.contains("has version 3, and this program reads up to 2") == true)
  }

  @Test("are given up when their time is over, but not by a clock that may be wrong")
  func time() {
    let kept = RemovedSinkTime(removedAt: start, keep: Self.day * 30)
    func isOver(_ after: Duration, newest: Timestamp?, uptime: Duration = .zero) -> Bool {
      kept.isOver(now: start + after, newest: newest, uptime: uptime)
    }
    let end = Self.day * 30
    #expect(!isOver(end - .milliseconds(1), newest: start + end))
    #expect(isOver(end, newest: start + end - Self.day))
    // The newest event is a month old: perhaps the clock is wrong, so that an hour must pass with it.
    #expect(!isOver(end, newest: start))
    #expect(isOver(end, newest: start, uptime: .seconds(3600)))
    #expect(!isOver(end, newest: nil))
    #expect(!isOver(.zero - Self.day, newest: start, uptime: Self.day))
    let none = RemovedSinkTime(removedAt: start, keep: .zero)
    #expect(none.isOver(now: start - Self.day, newest: nil, uptime: .zero))
    #expect(none.sentence.contains("given up at once"))
    #expect(kept.sentence.contains((start + end).description))
  }
}
