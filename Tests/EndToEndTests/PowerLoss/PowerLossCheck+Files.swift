import Foundation
import TestSupport

/// What the files of line sinks, archive and dead letters hold.
extension PowerLossCheck {
  /// A line of a file, by its number.
  struct Record {
    var number: Int
    var id: String
    var file: String
    var isWhole: Bool
  }

  func records(_ folder: String) -> [Record] {
    let root = place.disk.file(folder)
    let names = FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []
    return names.filter { $0.hasSuffix(".ndjson") }.sorted().flatMap { name in
      records(of: readFile("\(root)/\(name)") ?? [], name)
    }
  }

  /// The lines of a file; what is no line of a sent event is one that isn't whole.
  func records(of bytes: [UInt8], _ file: String) -> [Record] {
    let opening = Array(#"{"received_at":""#.utf8)
    var records: [Record] = []
    var start = 0
    for event in finder.events(in: bytes) {
      // (Torn, it may be shorter than it was sent.)
      let head = bytes[min(start, event.at)..<event.at]
      let end = event.end + 2
      let isWhole =
        event.isWhole && head.starts(with: opening) && end <= bytes.count
        && bytes[event.end..<end].elementsEqual("}\n".utf8)
      records.append(Record(number: Self.number(in: head), id: event.id, file: file, isWhole: isWhole))
      start = min(end, bytes.count)
    }
    if start < bytes.count { records.append(Record(number: 0, id: "the last line", file: file, isWhole: false)) }
    return records
  }

  private static func number(in head: ArraySlice<UInt8>) -> Int {
    guard let place = head.firstRange(of: Array(#","seq":"#.utf8)) else { return 0 }
    let digits = head[place.upperBound...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self)) ?? 0
  }

  /// All numbers, each of one event, each event under one of them; all that are owed, whole.
  mutating func check(_ records: [Record], isFinal: Bool, of sink: String = "raw") {
    var ids: [Int: String] = [:]
    for record in records {
      let first = ids.updateValue(record.id, forKey: record.number)
      expect(first == nil || first == record.id, "\(sink): number \(record.number) is of two events")
    }
    let due = Set(1...max(1, ids.keys.max() ?? 0)).subtracting(lost)
    expect(ids.isEmpty || Set(ids.keys) == due, "\(sink): numbers are missing")
    expectNone(records.filter { !$0.isWhole }.map(\.id), "\(sink): lines are torn, altered or of no sent event")
    expectNone(owed.subtracting(records.map(\.id)), "\(sink): answered with 200 and missing")
    var times: [String: Int] = [:]
    for id in ids.values where !PowerLossLoad.mayBeRefused(id) { times[id, default: 0] += 1 }
    expectNone(times.filter { $0.value > 1 }.map(\.key), "\(sink): stored twice within the window")
    if isFinal { expectNone(load.idsSentAgain.subtracting(records.map(\.id)), "\(sink): sent again and missing") }
    debts += owed.count
  }
}
