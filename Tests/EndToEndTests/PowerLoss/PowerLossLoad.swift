import Foundation
import PowerLoss
import TestSupport

/// The events of one round: small and large ones, some of them refused upstream, some of an app whose upstream is away, some
/// of a person who is left alone. The same for the same seed and time.
struct PowerLossLoad: Sendable {
  enum Kind: Sendable {
    case usual
    /// Of the app whose events wait while the round is recorded.
    case waiting
    /// Of a person on the deny list: answered, counted, and stored nowhere.
    case denied
  }

  struct Batch: Sendable {
    var kind: Kind
    var ids: [String]
    var body: [UInt8]
    /// Sent a second time once it was taken, as by a sender who missed the answer.
    var isRepeated: Bool

    /// (What went to the dead letters counts as new when it comes again.)
    var mayBeSentAgain: Bool { kind != .denied && !ids.contains(where: PowerLossLoad.isRefused) }
  }

  static let eventsPerRound = 420
  static let deniedInstall = "left-alone"

  private(set) var batches: [Batch] = []
  /// The bytes of every event that is to be stored, by id.
  private(set) var bytes: [String: [UInt8]] = [:]

  init(seed: UInt64, time: String) {
    var random = SeededGenerator(seed: seed)
    var made = 0
    while made < Self.eventsPerRound {
      let kind: Kind = random.chance(12) ? .denied : random.chance(15) ? .waiting : .usual
      let count = [1, 1, 2, 5, 9, 20][random.below(6)]
      var events: [(id: String, bytes: [UInt8])] = []
      for _ in 0..<count {
        events.append(Self.event(made, kind, time, &random))
        made += 1
      }
      if kind != .denied { for event in events { bytes[event.id] = event.bytes } }
      let body = Array(#"{"events":["#.utf8) + events.map(\.bytes).joined(separator: [UInt8(ascii: ",")])
      var batch = Batch(kind: kind, ids: events.map(\.id), body: body + Array("]}".utf8), isRepeated: false)
      batch.isRepeated = batch.mayBeSentAgain && random.chance(25)
      batches.append(batch)
    }
  }

  var idsSentAgain: Set<String> { Set(batches.filter(\.mayBeSentAgain).flatMap(\.ids)) }

  /// Whether the upstream refuses it.
  static func isRefused(_ id: String) -> Bool { id.hasSuffix("7") }

  /// What every event begins with, before its id.
  static let opening = Array(#"{"event_id":""#.utf8)
  static let idLength = 36

  private static func event(
    _ number: Int, _ kind: Kind, _ time: String, _ random: inout SeededGenerator
  ) -> (id: String, bytes: [UInt8]) {
    let digits = Array(hex(random.next()) + hex(random.next()))
    let id = [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]]
      .map { String($0) }.joined(separator: "-")
    let install = kind == .denied ? deniedInstall : "install-\(number % 9)"
    // (Blanks between tokens are the sender's bytes too: few events fill a segment.)
    let blanks = String(repeating: " ", count: random.chance(40) ? 20_000 + random.below(30_000) : random.below(40))
    let text =
      #"{"event_id":"\#(id)","name":"step_\#(number % 5)","anonymous_id":"\#(install)","occurred_at":"\#(time)","#
      + #""properties":{"n":\#(number),"price":39.990}\#(blanks)}"#
    return (id, Array(text.utf8))
  }

  private static func hex(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}

/// Finds a round's events in whatever bytes hold them.
struct EventFinder: Sendable {
  let sent: [String: [UInt8]]

  struct Found {
    var id: String
    /// Where its bytes begin.
    var at: Int
    /// Whether they are the ones that were sent.
    var isWhole: Bool
    var end: Int
  }

  func events(in bytes: [UInt8]) -> [Found] {
    var found: [Found] = []
    bytes.withUnsafeBytes { all in
      var at = 0
      while let next = Self.find(PowerLossLoad.opening, in: all, from: at) {
        let start = next + PowerLossLoad.opening.count
        let id = String(decoding: all[start..<min(start + PowerLossLoad.idLength, all.count)], as: UTF8.self)
        let event = sent[id] ?? []
        let isWhole =
          !event.isEmpty && next + event.count <= all.count
          && all[next..<next + event.count].isEqual(event)
        found.append(Found(id: id, at: next, isWhole: isWhole, end: next + event.count))
        at = isWhole ? next + event.count : start
      }
    }
    return found
  }

  /// Where a text stands in bytes, from a place on.
  static func find(_ text: [UInt8], in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, let first = text.first else { return nil }
    var at = start
    while at + text.count <= bytes.count {
      guard let place = memchr(base + at, Int32(first), bytes.count - at) else { return nil }
      at = UnsafeRawPointer(place) - base
      if at + text.count <= bytes.count, memcmp(base + at, text, text.count) == 0 { return at }
      at += 1
    }
    return nil
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Compares all bytes at once: the events are large, and tests aren't optimised.
  fileprivate func isEqual(_ other: [UInt8]) -> Bool {
    let mine = UnsafeRawBufferPointer(rebasing: self)
    guard mine.count == other.count, let base = mine.baseAddress else { return other.isEmpty }
    return memcmp(base, other, other.count) == 0
  }
}
