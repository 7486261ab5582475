import Synchronization

/// What became of each event of a run so far, by its number. From any thread.
final class DebtBook: Sendable {
  private let entries = Mutex<[DebtEntry]>([])

  /// Takes the next numbers; they are noted as sent.
  func mint(_ count: Int) -> Range<Int> {
    entries.withLock { entries in
      let first = entries.count
      entries.append(contentsOf: repeatElement(DebtEntry(), count: count))
      return first..<first + count
    }
  }

  func change(_ number: Int, _ body: (inout DebtEntry) -> Void) {
    entries.withLock { entries in
      guard entries.indices.contains(number) else { return }
      body(&entries[number])
    }
  }

  var all: [DebtEntry] { entries.withLock { $0 } }

  var debts: Int { entries.withLock { $0.count { $0.isOwed } } }
}

/// What is known of one event.
struct DebtEntry: Sendable, Equatable {
  /// How often it was sent to the relay.
  var sent: UInt16 = 0
  /// How often an answer said that it is kept.
  var accepted: UInt16 = 0
  /// An answer named it as rejected.
  var isRejected = false
  /// An answer named it as clamped: goes upstream with another time.
  var isClamped = false
  /// How often the scripted upstream stored it, and the webhook's receiver took it.
  var upstream: UInt16 = 0
  var hook: UInt16 = 0

  var isOwed: Bool { accepted > 0 }
}
