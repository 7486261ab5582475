import TestSupport
import Testing

@testable import Dedupe

@Suite("The window of ids")
struct DuplicateWindowTests {
  private static let hour: Int64 = 3_600_000

  private func key(_ id: UInt64, app: UInt64 = 1) -> EventKey { EventKey(app: app, idHigh: id, idLow: ~id) }

  @Test("knows an event again within the window, for the same app alone, and not past it")
  func window() {
    let window = TestWindow(window: Self.hour, maxIDs: 100)
    #expect(window.see(key(1), body: 7, ticket: 1, at: 0) == .new(place: 1))
    window.stored(places: 1..<2, ticket: 1, first: 10)
    #expect(window.see(key(1), body: 7, ticket: 2, at: 1) == .duplicate(isConflict: false))
    #expect(window.see(key(1), body: 8, ticket: 2, at: 1) == .duplicate(isConflict: true))
    #expect(window.see(key(1, app: 2), body: 7, ticket: 2, at: 1) == .new(place: 2))
    #expect(window.see(key(1), body: 7, ticket: 3, at: Self.hour - 1) == .duplicate(isConflict: false))
    #expect(window.see(key(1), body: 7, ticket: 3, at: Self.hour) == .new(place: 3))
  }

  @Test("may become shorter and longer: what a shorter one has not dropped yet is known again")
  func change() {
    let window = TestWindow(window: Self.hour, maxIDs: 100)
    window.see(key(1), body: 7, ticket: 1, at: 0)
    window.stored(places: 1..<2, ticket: 1, first: 10)
    window.length = 2 * Self.hour
    #expect(window.see(key(1), body: 7, ticket: 2, at: 2 * Self.hour - 1) == .duplicate(isConflict: false))
    window.length = Self.hour
    #expect(window.see(key(1), body: 7, ticket: 2, at: 2 * Self.hour - 1) == .new(place: 2))
    window.stored(places: 2..<3, ticket: 2, first: 11)
    window.length = 9 * Self.hour
    #expect(window.see(key(1), body: 7, ticket: 3, at: 10 * Self.hour) == .duplicate(isConflict: false))
    #expect(window.count == 1)
  }

  @Test("tells whose pending event is repeated, one's own too")
  func pending() {
    let window = TestWindow(window: Self.hour, maxIDs: 100)
    window.see(key(1), body: 7, ticket: 5, at: 0)
    #expect(window.see(key(1), body: 7, ticket: 5, at: 0) == .pending(ticket: 5, isConflict: false))
    #expect(window.see(key(1), body: 8, ticket: 6, at: 0) == .pending(ticket: 5, isConflict: true))
    // However long that takes.
    #expect(window.see(key(1), body: 7, ticket: 7, at: 9 * Self.hour) == .pending(ticket: 5, isConflict: false))
  }

  @Test("knows nothing of what was refused, and keeps no room for it")
  func refused() {
    let window = TestWindow(window: Self.hour, maxIDs: 8)
    for id in 1...4 as ClosedRange<UInt64> { window.see(key(id), body: 0, ticket: 1, at: 0) }
    window.stored(places: 1..<5, ticket: 1, first: 100)
    for round in 0..<1000 as Range<UInt64> {
      #expect(window.see(key(50), body: 0, ticket: 2 + round, at: 0) == .new(place: 5))
      #expect(window.see(key(51), body: 0, ticket: 2 + round, at: 0) == .new(place: 6))
      window.refused(places: 5..<7, ticket: 2 + round)
    }
    #expect(window.count == 4 && window.evicted == 0)
    for id in 1...4 as ClosedRange<UInt64> {
      #expect(window.see(key(id), body: 0, ticket: 9999, at: 1) == .duplicate(isConflict: false))
    }
  }

  @Test("forgets an event that went to the dead letters, and not one stored later under its id")
  func forget() {
    let window = TestWindow(window: Self.hour, maxIDs: 100)
    window.see(key(1), body: 0, ticket: 1, at: 0)
    window.stored(places: 1..<2, ticket: 1, first: 10)
    #expect(!window.forget(key(1), sequence: 9))
    #expect(window.forget(key(1), sequence: 10))
    #expect(!window.forget(key(1), sequence: 10))
    #expect(window.see(key(1), body: 1, ticket: 2, at: 1) == .new(place: 2))
    window.stored(places: 2..<3, ticket: 2, first: 20)
    #expect(!window.forget(key(1), sequence: 10))
    #expect(window.see(key(1), body: 1, ticket: 3, at: 2) == .duplicate(isConflict: false))
  }

  @Test("forgets an event whose fate is known before the word that it is stored")
  func early() {
    let window = TestWindow(window: Self.hour, maxIDs: 100)
    window.see(key(1), body: 0, ticket: 1, at: 0)
    window.see(key(2), body: 0, ticket: 1, at: 0)
    #expect(window.forget(key(2), sequence: 11))
    window.stored(places: 1..<3, ticket: 1, first: 10)
    #expect(window.see(key(1), body: 0, ticket: 2, at: 1) == .duplicate(isConflict: false))
    #expect(window.see(key(2), body: 0, ticket: 2, at: 1) == .new(place: 3))
  }

  @Test("never holds more than its limit: the oldest go first, and are counted")
  func bounded() {
    let window = TestWindow(window: Self.hour, maxIDs: 10_000)
    for id in 1...30_000 as ClosedRange<UInt64> {
      window.see(key(id), body: 0, ticket: id, at: 0)
      window.stored(places: id..<id + 1, ticket: id, first: id)
    }
    #expect(window.count == 10_000 && window.evicted == 20_000)
    #expect(window.see(key(20_001), body: 0, ticket: 1, at: 1) == .duplicate(isConflict: false))
    #expect(window.see(key(20_000), body: 0, ticket: 1, at: 1) == .new(place: 30_001))
    let limit = (10_000 + 3 * IDRing.blockEntries) * IDRing.bytesPerID
    #expect(window.bytes <= limit, "\(window.bytes)")
  }

  @Test("gives memory back when what it holds is past the window")
  func shrinks() {
    let window = TestWindow(window: Self.hour, maxIDs: 100_000)
    for id in 1...100_000 as ClosedRange<UInt64> {
      window.see(key(id), body: 0, ticket: id, at: 0)
      window.stored(places: id..<id + 1, ticket: id, first: id)
    }
    let full = window.bytes
    for id in 1...1000 as ClosedRange<UInt64> { window.see(key(1_000_000 + id), body: 0, ticket: 1, at: Self.hour) }
    #expect(window.count == 1000 && window.evicted == 0)
    #expect(window.bytes < full / 3)
  }

  @Test("does what a dictionary does, through any sequence of steps", arguments: 1...20 as ClosedRange<UInt64>)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limit = Int.random(in: 3...40, using: &random)
    let length = Int64.random(in: 5...60, using: &random)
    // (Chains hold 32 bits of a place: every second round goes past them.)
    let first: UInt64 = seed % 2 == 0 ? 1 : 1 << 32 - 1000
    let window = TestWindow(window: length, maxIDs: limit, firstPlace: first)
    var model = WindowModel(window: length, limit: limit)
    var now: Int64 = 0
    var open: [(ticket: UInt64, places: Range<UInt64>, ids: [UInt64])] = []
    var sequence: UInt64 = 1
    for ticket in 1...3000 as ClosedRange<UInt64> {
      now += Int64.random(in: 0...2, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        var places: Range<UInt64>?
        var ids: [UInt64] = []
        for _ in 0..<Int.random(in: 1...min(4, limit), using: &random) {
          let id = UInt64.random(in: 1...30, using: &random)
          let sighting = window.see(key(id), body: 0, ticket: ticket, at: now)
          let expected = model.see(id, ticket: ticket, at: now)
          #expect(WindowModel.Sighting(sighting) == expected, "seed \(seed)")
          guard case .new(let place) = sighting else { continue }
          places = (places?.lowerBound ?? place)..<place + 1
          ids.append(id)
        }
        if let places { open.append((ticket, places, ids)) }
      case 5..<9:
        guard !open.isEmpty else { continue }
        let one = open.remove(at: Int.random(in: 0..<open.count, using: &random))
        if Bool.random(using: &random) {
          window.stored(places: one.places, ticket: one.ticket, first: sequence)
          model.stored(one.ids, ticket: one.ticket, first: sequence)
          sequence += UInt64(one.ids.count)
        } else {
          window.refused(places: one.places, ticket: one.ticket)
          model.refused(one.ids, ticket: one.ticket)
        }
      default:
        guard let (id, number) = model.stored.randomElement(using: &random) else { continue }
        let isForgotten = model.forget(id, sequence: number)
        #expect(window.forget(key(id), sequence: number) == isForgotten, "seed \(seed)")
      }
      #expect(window.count <= limit)
    }
  }
}
