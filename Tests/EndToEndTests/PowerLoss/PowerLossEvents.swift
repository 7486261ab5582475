import Foundation
import TestSupport

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
