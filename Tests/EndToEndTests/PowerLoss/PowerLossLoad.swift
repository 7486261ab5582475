import CrashPoints
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
    var mayBeSentAgain: Bool { kind != .denied && !ids.contains(where: PowerLossLoad.mayBeRefused) }
  }

  static let eventsPerRound = 420
  static let deniedInstall = "left-alone"

  /// Whether the relays of a round with this seed have small segments and write nearly finished ones anew at once: every
  /// other round's. (Which release builds can't be told to.)
  static func rewrites(seed: UInt64) -> Bool { CrashPoint.isBuilt && !seed.isMultiple(of: 2) }

  private(set) var batches: [Batch] = []
  /// The bytes of every event that is to be stored, by id.
  private(set) var bytes: [String: [UInt8]] = [:]

  init(seed: UInt64, time: String) {
    let rewrites = Self.rewrites(seed: seed)
    var random = SeededGenerator(seed: seed)
    var made = 0
    while made < Self.eventsPerRound {
      var kind: Kind = random.chance(12) ? .denied : random.chance(15) ? .waiting : .usual
      var count = [1, 1, 2, 5, 9, 20][random.below(6)]
      if rewrites {
        // Small segments: each of them is to hold few events that wait, and a request has to fit into one.
        kind = batches.count % 12 == 3 ? .waiting : kind == .denied ? .denied : .usual
        count = kind == .waiting ? 1 : min(count, 9)
      }
      var events: [(id: String, bytes: [UInt8])] = []
      for _ in 0..<count {
        let event = Self.event(made, kind, time, largest: rewrites ? 9000 : 50_000, &random)
        events.append(event)
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

  /// The ids of events whose upstream is away while the round is recorded.
  var idsWaiting: Set<String> { Set(batches.filter { $0.kind == .waiting }.flatMap(\.ids)) }

  /// Whether the upstream refuses it, whenever it comes.
  static func isRefused(_ id: String) -> Bool { id.hasSuffix("7") }

  /// Whether the upstream refuses it until it was mended.
  static func isRefusedAtFirst(_ id: String) -> Bool { id.hasSuffix("3") }

  static func mayBeRefused(_ id: String) -> Bool { isRefused(id) || isRefusedAtFirst(id) }

  /// What every event begins with, before its id.
  static let opening = Array(#"{"event_id":""#.utf8)
  static let idLength = 36

  private static func event(
    _ number: Int, _ kind: Kind, _ time: String, largest: Int, _ random: inout SeededGenerator
  ) -> (id: String, bytes: [UInt8]) {
    let digits = Array(hex(random.next()) + hex(random.next()))
    let id = [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]]
      .map { String($0) }.joined(separator: "-")
    let install = kind == .denied ? deniedInstall : "install-\(number % 9)"
    // (Blanks between tokens are the sender's bytes too: few events fill a segment.)
    let blanks = String(
      repeating: " ", count: random.chance(40) ? largest * 2 / 5 + random.below(largest * 3 / 5) : random.below(40))
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
