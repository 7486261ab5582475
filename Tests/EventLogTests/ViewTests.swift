import Clocks
import Foundation
import TestSupport
import Testing

@testable import EventLog

@Suite("A log that is only looked at")
struct ViewTests {
  private let directory = TemporaryDirectory()
  private var fixture: LogFixture { LogFixture(directory: directory.path) }

  private func contents() throws -> [String: Data] {
    var found: [String: Data] = [:]
    for case let name as String in FileManager.default.enumerator(atPath: directory.path)?.allObjects ?? [] {
      found[name] = FileManager.default.contents(atPath: "\(directory.path)/\(name)")
    }
    return found
  }

  private func search(_ view: LogView, _ serial: Int, deadline: Duration = .seconds(60)) -> EventSearch {
    var search = EventSearch(high: UInt64(serial), low: ~UInt64(serial), deadline: .now + deadline)
    search.run(view)
    return search
  }

  @Test("has the books that the running log has, as far as they are committed, and changes no file")
  func books() throws {
    let log = try fixture.open()
    defer { log.close() }
    let sink = try log.subscribe("sink", origin: .oldest)
    for serial in stride(from: 0, to: 300, by: 3) { log.put(serial..<serial + 3) }
    sink.acknowledge(.all, 1...120, Tally([.delivered: 117, .refused: 3]))
    sink.acknowledge(.all, 200...210, Tally(.filtered, 11))
    try sink.commit(attachment: ["mark": 7])
    let view = try LogView.read(directory.path)
    let destination = try #require(view.destinations.first)
    let books = try destination.books()
    #expect(books.ledger == sink.ledger && books.ledger.waiting == 300 - 131)
    #expect(books.missing == 0 && books.heldBytes == log.heldBytes["sink"] && books.heldBytes > 0)
    #expect(destination.attachment == ["mark": 7] && view.isCurrent(destination))
    #expect(view.acceptedEvents == 300 && view.nextSequence == 301 && view.missingTail == nil)
    // What comes since is in both columns.
    log.put(300..<310)
    let later = try #require(try LogView.read(directory.path).destinations.first).books()
    #expect(later.ledger.accepted == 310 && later.ledger.waiting == 310 - 131 && later.missing == 0)
    try sink.commit(attachment: nil)
    #expect(!view.isCurrent(destination))
    let still = try contents()
    _ = try LogView.read(directory.path).destinations.first?.books()
    #expect(try contents() == still)
  }

  @Test("misses the events of a segment that is gone, and tells a position that is past the log's end")
  func missing() throws {
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    for serial in 0..<200 { log.put(serial..<serial + 1) }
    try sink.commit(attachment: nil)
    log.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.file("log")).sorted()
    let segments = names.filter { $0.hasPrefix("segment-") }
    let middle = segments[segments.count / 2]
    try FileManager.default.moveItem(
      atPath: directory.file("log/\(middle)"), toPath: directory.file("aside"))
    let books = try #require(try LogView.read(directory.path).destinations.first).books()
    #expect(books.missing > 0 && books.ledger.accepted == 200)
    #expect(Int(books.ledger.waiting) + books.missing == 200)
    try FileManager.default.moveItem(atPath: directory.file("aside"), toPath: directory.file("log/\(middle)"))
    #expect(try #require(try LogView.read(directory.path).destinations.first).books().missing == 0)
    try FileManager.default.removeItem(atPath: directory.file("log/\(try #require(segments.last))"))
    let tail = try #require(try LogView.read(directory.path).missingTail)
    #expect(tail.destination == "sink" && tail.through == 201 && tail.end < 201)
  }

  @Test("finds every storing of an id, the newest first, and says what there was no time for")
  func copies() throws {
    let log = try fixture.open()
    defer { log.close() }
    _ = try log.subscribe("sink", origin: .oldest)
    for serial in 0..<100 { log.put(serial..<serial + 1) }
    log.put(40..<43)
    for serial in 100..<150 { log.put(app: "web", serial..<serial + 1) }
    log.put(app: "web", 41..<42)
    for view in [log.view, try LogView.read(directory.path)] {
      let found = search(view, 41)
      #expect(found.hits.map(\.event.sequence) == [154, 102, 42])
      #expect(found.hits.map(\.app) == ["web", "ios", "ios"])
      #expect(found.hits.map(\.place) == [153, 101, 41])
      #expect(found.hits.allSatisfy { $0.bytes == Drafts.event(41) && $0.segment.hasPrefix("segment-") })
      #expect(found.extent.segments > 3 && found.extent.segmentsLeft == 0 && found.extent.bytesRead > 0)
      #expect(search(view, 4000).hits.isEmpty)
      let late = search(view, 41, deadline: .seconds(-1))
      #expect(late.hits.isEmpty && late.extent.segmentsLeft == found.extent.segments)
    }
  }

  @Test("knows what a destination was never owed, what it is owed, and what is settled, committed or not")
  func standing() throws {
    let log = try fixture.open()
    defer { log.close() }
    for serial in 0..<10 { log.put(serial..<serial + 1) }
    let sink = try log.subscribe("sink", origin: .newest)
    for serial in 10..<20 { log.put(serial..<serial + 1) }
    sink.acknowledge(.all, 11...15, Tally(.delivered, 5))
    let now = try #require(log.view.destinations.first)
    #expect(now.standing(app: "ios", 5, place: 4) == .neverOwed)
    #expect(now.standing(app: "ios", 12, place: 11) == .settled)
    #expect(now.standing(app: "ios", 16, place: 15) == .owed)
    #expect(now.standing(app: "ios", 500, place: nil) == .owed)
    let onDisk = try #require(try LogView.read(directory.path).destinations.first)
    #expect(onDisk.standing(app: "ios", 12, place: 11) == .owed)
    try sink.commit(attachment: nil)
    let committed = try #require(try LogView.read(directory.path).destinations.first)
    #expect(committed.standing(app: "ios", 12, place: 11) == .settled)
  }
}
