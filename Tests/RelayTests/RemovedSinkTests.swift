import Clocks
import Observability
import TestSupport
import Testing

@testable import Relay

@Suite("Removed sinks")
struct RemovedSinkTests {
  private let directory = TemporaryDirectory()
  private let start = Timestamp(milliseconds: 1_800_000_000_000)
  private static let day: Duration = .seconds(86_400)

  private func book() throws -> RemovedSinkBook { try RemovedSinkBook(directory: directory.path, logger: .silent) }

  @Test("keep their time over restarts, from when they were first seen to be gone")
  func remembered() throws {
    let first = try book()
    #expect(first.note("raw", now: start) == start)
    #expect(first.note("raw", now: start + Self.day) == start)
    _ = first.note("hook", now: start + Self.day)
    let second = try book()
    #expect(second.removedAt("raw") == start && second.removedAt("hook") == start + Self.day)
    second.forget(["raw"])
    second.forget(["hook"], dropped: 7)
    second.forget(["never"])
    let third = try book()
    #expect(third.removedAt("raw") == nil && third.removedAt("hook") == nil && third.droppedEvents == 7)
    #expect(third.note("raw", now: start + Self.day) == start + Self.day)
  }

  @Test("a damaged list counts from now, a newer program's is refused with both versions")
  func unreadable() throws {
    _ = directory.write(RemovedSinkBook.fileName, "{\"format\":")
    #expect(try book().removedAt("raw") == nil)
    _ = directory.write(
      RemovedSinkBook.fileName, "{\"format\":\"event-relay-removed-sinks\",\"version\":2,\"sinks\":[]}")
    let error = #expect(throws: RelayError.self) { try book() }
    #expect(error?.description.contains("has version 2, and this program reads up to 1") == true)
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
