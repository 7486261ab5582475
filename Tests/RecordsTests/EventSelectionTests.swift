import Clocks
import EventLog
import Foundation
import Testing

@testable import Records

@Suite("A selection of events")
struct EventSelectionTests {
  private let noon = Timestamp(milliseconds: 1_792_757_071_512)

  private func admits(
    _ selection: EventSelection, _ text: String = #"{"name":"tap"}"#, app: String = "ios", kind: EventKind = .event,
    install: UInt64 = 1
  ) -> Bool {
    let bytes = Array(text.utf8)
    let name = text.range(of: #""name":"#).map { text.utf8.distance(from: text.startIndex, to: $0.upperBound) } ?? 0
    let index = EventIndex(
      idHigh: 0, idLow: 0, installHash: install, userHash: 0, length: bytes.count, nameOffset: name,
      occurredAtOffset: 0, occurredAt: noon, flags: [])
    let event = StoredEvent(
      sequence: 1, index: index, kind: kind, dialect: 0, receivedAt: noon, appIndex: 0, offset: 0)
    return bytes.withUnsafeBytes { selection.admits(event, app: app, bytes: $0) }
  }

  @Test("admits everything when nothing is asked for")
  func all() {
    #expect(EventSelection(names: []).isAll)
    #expect(admits(EventSelection(names: []), "{}", kind: .identify))
  }

  @Test("goes by app and kind")
  func apps() {
    let selection = EventSelection(apps: ["ios", "web"], names: [], kinds: [.event])
    #expect(!selection.isAll)
    #expect(admits(selection))
    #expect(!admits(selection, app: "tv"))
    #expect(!admits(selection, kind: .identify))
  }

  @Test("compares an event's name as it is meant, escaped or not, and leaves out what has none")
  func names() {
    let selection = EventSelection(names: ["tap", "café \"x\"", "a\\b"])
    #expect(admits(selection))
    #expect(admits(selection, #"{"name":"café \"x\""}"#))
    #expect(admits(selection, #"{"name":"caf\u00e9 \u0022x\""}"#))
    #expect(admits(selection, #"{"name":"\u0074ap","z":"tap"}"#))
    #expect(admits(selection, #"{"name":"a\\b"}"#))
    for other in [
      #"{"name":"tapp"}"#, #"{"name":"ta"}"#, #"{"name":""}"#, #"{"name":"a\\\\b"}"#, #"{"name":"Tap"}"#, #"{}"#,
      #"{"name":tap}"#, #"{"name":"tap"#, #"{"name":"tap\"#,
    ] { #expect(!admits(selection, other), "\(other)") }
  }

  @Test("goes by the time of receipt, from since on and before until")
  func times() {
    #expect(admits(EventSelection(names: [], since: noon, until: noon + .milliseconds(1))))
    #expect(!admits(EventSelection(names: [], since: noon + .milliseconds(1))))
    #expect(!admits(EventSelection(names: [], until: noon)))
  }

  @Test(
    "takes the share of the installs that it is told, always the same ones", arguments: [0, 0.01, 0.125, 0.5, 0.99, 1])
  func sample(share: Double) {
    let selection = EventSelection(names: [], sample: share)
    // Small, even, and spread hashes alike.
    for scale: UInt64 in [1, 2, 1 << 32, 0x9E37_79B9_7F4A_7C15] {
      let admitted = (1...20_000).filter { admits(selection, install: UInt64($0) &* scale) }
      #expect(abs(Double(admitted.count) / 20_000 - share) < 0.015, "scale \(scale)")
      #expect(admitted == (1...20_000).filter { admits(selection, install: UInt64($0) &* scale) })
    }
  }
}
