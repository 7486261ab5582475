@testable import Dedupe

/// What the window does, said the simplest way: a list in the order of arrival.
struct WindowModel {
  enum Sighting: Equatable {
    case new, duplicate
    case pending(UInt64)

    init(_ sighting: DuplicateWindow.Sighting) {
      switch sighting {
      case .new: self = .new
      case .duplicate: self = .duplicate
      case .pending(let ticket, _): self = .pending(ticket)
      }
    }
  }

  private enum State: Equatable {
    case pending(UInt64)
    case stored(UInt64)
    case gone
  }

  private struct Entry {
    var id: UInt64
    var at: Int64
    var state: State
  }

  let window: Int64
  let limit: Int
  private var entries: [Entry] = []

  init(window: Int64, limit: Int) {
    self.window = window
    self.limit = limit
  }

  mutating func see(_ id: UInt64, ticket: UInt64, at now: Int64) -> Sighting {
    entries = Array(
      entries.drop { entry in
        if case .pending = entry.state { return false }
        return entry.state == .gone || entry.at <= now - window
      })
    if let entry = entries.last(where: { $0.id == id && $0.state != .gone }) {
      if case .pending(let other) = entry.state { return .pending(other) }
      if entry.at > now - window { return .duplicate }
    }
    if entries.count == limit { entries.removeFirst() }
    entries.append(Entry(id: id, at: now, state: .pending(ticket)))
    return .new
  }

  mutating func stored(_ ids: [UInt64], ticket: UInt64, first: UInt64) {
    for (offset, id) in ids.enumerated() { settle(id, ticket, .stored(first + UInt64(offset))) }
  }

  mutating func refused(_ ids: [UInt64], ticket: UInt64) {
    for id in ids { settle(id, ticket, .gone) }
    while entries.last?.state == .gone { entries.removeLast() }
  }

  private mutating func settle(_ id: UInt64, _ ticket: UInt64, _ state: State) {
    guard let at = entries.lastIndex(where: { $0.id == id && $0.state == .pending(ticket) }) else { return }
    entries[at].state = state
  }

  /// Ids that are found as stored.
  var stored: [(id: UInt64, sequence: UInt64)] {
    var seen: Set<UInt64> = []
    return entries.reversed().compactMap { entry in
      guard entry.state != .gone, seen.insert(entry.id).inserted, case .stored(let number) = entry.state else {
        return nil
      }
      return (entry.id, number)
    }
  }

  mutating func forget(_ id: UInt64, sequence: UInt64) -> Bool {
    guard let at = entries.lastIndex(where: { $0.id == id && $0.state != .gone }),
      entries[at].state == .stored(sequence)
    else { return false }
    entries[at].state = .gone
    return true
  }
}
