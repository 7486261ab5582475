import Clocks
import EventLog
import JSON

/// Which events are meant: by app, name, kind, time of receipt, and a share of the installs.
///
/// Judged from the log's index and the bytes of the event's name: nothing is parsed again.
public struct EventSelection: Sendable, Equatable {
  /// Apps by name; empty: all.
  public var apps: Set<String>
  /// Events' names; empty: all. An identify call has none, so that a selection by name leaves it out.
  public var names: EventNames
  /// Empty: all.
  public var kinds: Set<EventKind>
  /// From `since` on, and before `until`; by time of receipt.
  public var since, until: Timestamp?
  /// The share of the installs, 0…1. It is the same installs everywhere, so that what two places keep fits together.
  public var sample: Double {
    didSet { sampleEnd = Self.end(of: sample) }
  }
  private var sampleEnd: UInt64

  public init(
    apps: Set<String> = [], names: some Sequence<String> = [], kinds: Set<EventKind> = [], since: Timestamp? = nil,
    until: Timestamp? = nil, sample: Double = 1
  ) {
    self.apps = apps
    self.names = EventNames(names)
    self.kinds = kinds
    self.since = since
    self.until = until
    self.sample = sample
    sampleEnd = Self.end(of: sample)
  }

  /// Everything is meant.
  public var isAll: Bool {
    apps.isEmpty && names.isEmpty && kinds.isEmpty && since == nil && until == nil && sample >= 1
  }

  /// - Parameter bytes: the event's own.
  public func admits(_ event: StoredEvent, app: String, bytes: UnsafeRawBufferPointer) -> Bool {
    if !kinds.isEmpty, !kinds.contains(event.kind) { return false }
    if !apps.isEmpty, !apps.contains(app) { return false }
    if let since, event.receivedAt < since { return false }
    if let until, event.receivedAt >= until { return false }
    if sample < 1, Self.spread(event.index.installHash) >= sampleEnd { return false }
    guard !names.isEmpty else { return true }
    return names.contains(literalAt: event.index.nameOffset, in: bytes)
  }

  /// The hash as it is may be even in its low bits only, or be used elsewhere: its bits are spread once more.
  private static func spread(_ hash: UInt64) -> UInt64 {
    var hash = (hash ^ (hash >> 32)) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ (hash >> 29)) &* 0xBF58_476D_1CE4_E5B9
    return hash ^ (hash >> 32)
  }

  private static func end(of share: Double) -> UInt64 {
    share >= 1 ? .max : UInt64(max(share, 0) * 18_446_744_073_709_551_616)
  }
}

/// Names of events, looked up by the bytes of a JSON string.
public struct EventNames: Sendable, Equatable {
  /// By hash of their bytes.
  private var names: [UInt64: [[UInt8]]] = [:]
  public private(set) var count = 0

  public init(_ names: some Sequence<String> = []) {
    for name in Set(names) {
      let bytes = Array(name.utf8)
      self.names[bytes.withUnsafeBytes(Self.hash), default: []].append(bytes)
      count += 1
    }
  }

  public var isEmpty: Bool { count == 0 }

  /// Whether the JSON string that begins at an offset is one of the names; false at 0, where no event's name can stand.
  public func contains(literalAt offset: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard offset > 0, offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { return false }
    var end = offset + 1
    var isEscaped = false
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      if bytes[end] == UInt8(ascii: "\\") {
        isEscaped = true
        end += 1
      }
      end += 1
    }
    guard end < bytes.count else { return false }
    guard isEscaped else { return contains(UnsafeRawBufferPointer(rebasing: bytes[offset + 1..<end])) }
    // (A string alone is no document to every parser.)
    let list = [UInt8(ascii: "[")] + bytes[offset...end] + [UInt8(ascii: "]")]
    guard let name = (try? JSONValue(parsing: list))?.array?.first?.string else { return false }
    return Array(name.utf8).withUnsafeBytes(contains)
  }

  private func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    names[Self.hash(name)]?.contains { name.elementsEqual($0) } ?? false
  }

  /// FNV-1a.
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
