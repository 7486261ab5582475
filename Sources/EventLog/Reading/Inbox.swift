import Clocks

/// What a sync brought for a subscription, kept until it looks: an item per app and segment, however many frames.
///
/// `@unchecked`: guarded by `monitor`. The writer only ever waits for this lock, never for a subscription's work.
final class Inbox: @unchecked Sendable {
  struct Item {
    var app: AppID
    var segment: UInt64
    var events: Int
    var first: UInt64
    var last: UInt64
    var receivedAt: Timestamp
  }

  private let monitor = Monitor()
  private var items: [Item] = []
  /// Where the app's newest item stands.
  private var index: [AppID: Int] = [:]
  private var end: UInt64 = 0

  func add(_ notes: [FrameNote], segment: UInt64) {
    monitor.withLock {
      for note in notes {
        let last = note.first + UInt64(note.count) - 1
        if let at = index[note.app], items[at].segment == segment {
          items[at].events += note.count
          items[at].last = last
        } else {
          index[note.app] = items.count
          items.append(
            Item(
              app: note.app, segment: segment, events: note.count, first: note.first, last: last,
              receivedAt: note.receivedAt))
        }
        end = last + 1
      }
    }
  }

  /// Hands out what has come, in any order of apps, and the number after the newest event; nil when nothing has.
  func drain(into taken: inout [Item]) -> UInt64? {
    monitor.withLock {
      taken.removeAll(keepingCapacity: true)
      guard !items.isEmpty else { return nil }
      swap(&taken, &items)
      index.removeAll(keepingCapacity: true)
      return end
    }
  }
}
