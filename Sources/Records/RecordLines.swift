import Clocks
import Dialects
import EventLog
import Glibc
import JSON

/// Lines of records, built one behind the other in one buffer that is used again and again.
///
/// A line is one JSON object and a line feed:
/// `{"received_at":"…","relay":"…","app":"…","kind":"event","protocol":"…","seq":123,"event":{…}}`. The names stand in this
/// order (a line of an older program has no `protocol`: its event came by the App Store Operator Events API). A clamped event has `"occurred_at_used":"…"` after `seq`; a dead letter then has the members of ``DeadLetterDetails``.
/// `event` is always the last, so that its bytes are what follows the line's first `,"event":` up to the closing brace:
/// see ``eventRange(in:)``.
///
/// The event's bytes are the sender's. A line feed or carriage return between its tokens becomes a space: a line is a line.
///
/// Not thread-safe; owned by whoever writes the lines. Making a line allocates nothing in the long run.
public final class RecordLines {
  private var buffer: UnsafeMutableRawBufferPointer
  private var used = 0
  /// The instance's id.
  public let relay: String

  // What the lines of one frame have in common, up to and with `"seq":`.
  private var head: [UInt8] = []
  private var headApp = ""
  private var headKind = EventKind.event
  private var headDialect: UInt8 = 0
  private var headReceivedAt = Timestamp(milliseconds: .min)
  /// `,"occurred_at_used":"…"` for `headReceivedAt`.
  private var occurredAtUsed: [UInt8] = []

  /// - Parameter relay: the instance's id, `relay` in each line.
  public init(relay: String, capacity: Int = 64 * 1024) {
    self.relay = relay
    buffer = .allocate(byteCount: max(capacity, 1024), alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// The lines' bytes; good until the next change.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<used]) }

  public var count: Int { used }
  public var isEmpty: Bool { used == 0 }

  public func removeAll() { used = 0 }

  /// Takes the first `count` bytes away; the others move to the front.
  public func removeFirst(_ count: Int) {
    precondition(count <= used, "more than there is")
    guard let base = buffer.baseAddress else { return }
    memmove(base, base + count, used - count)
    used -= count
  }

  /// Adds an event's line.
  ///
  /// - Parameters:
  ///   - source: the event's bytes, as its sender sent them.
  ///   - deadLetter: what makes the line a dead letter's.
  public func append(
    _ event: StoredEvent, app: String, bytes source: UnsafeRawBufferPointer, deadLetter: DeadLetterDetails? = nil
  ) {
    if event.receivedAt != headReceivedAt || event.kind != headKind || event.dialect != headDialect || app != headApp {
      makeHead(event, app)
    }
    var extra = event.index.flags.contains(.clamped) ? occurredAtUsed : []
    deadLetter?.write(to: &extra)
    reserve(head.count + 20 + extra.count + Self.eventName.count + source.count + 2)
    // One pointer through the whole line: each look at a member of a class is checked for overlap.
    guard var end = buffer.baseAddress.map({ $0 + used }) else { return }
    let start = end
    end = Self.put(head, at: end)
    end = Self.put(event.original, at: end)
    if !extra.isEmpty { end = Self.put(extra, at: end) }
    end = Self.put(Self.eventName, at: end)
    if event.index.flags.contains(.lineBreaks) {
      end = Self.putOnOneLine(source, at: end)
    } else if let bytes = source.baseAddress {
      memcpy(end, bytes, source.count)
      end += source.count
    }
    end.storeBytes(of: UInt16(littleEndian: 0x0A7D), as: UInt16.self)  // }\n
    used += end - start + 2
  }

  /// Adds a record's line again, as the dead letter it has become.
  ///
  /// - Parameter line: a whole line of these, no dead letter's, with or without its line feed.
  public func append(line: UnsafeRawBufferPointer, deadLetter: DeadLetterDetails) {
    guard let event = Self.eventRange(in: line) else { preconditionFailure("no record's line") }
    var extra: [UInt8] = []
    deadLetter.write(to: &extra)
    let headEnd = event.lowerBound - Self.eventName.count
    reserve(event.upperBound + extra.count + 2)
    guard let start = buffer.baseAddress.map({ $0 + used }), let source = line.baseAddress else { return }
    memcpy(start, source, headEnd)
    let end = Self.put(extra, at: start + headEnd)
    memcpy(end, source + headEnd, event.upperBound - headEnd)
    (end + event.upperBound - headEnd).storeBytes(of: UInt16(littleEndian: 0x0A7D), as: UInt16.self)  // }\n
    used += event.upperBound + extra.count + 2
  }

  /// Where the event's own bytes stand in a line, with or without its line feed; nil when it is no record.
  public static func eventRange(in line: UnsafeRawBufferPointer) -> Range<Int>? {
    var end = line.count
    while end > 0, line[end - 1] == UInt8(ascii: "\n") || line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    let name = eventName.count
    guard end > opening.count + name, line.starts(with: opening), line[end - 1] == UInt8(ascii: "}") else { return nil }
    // In a string before it the quotes would be escaped, so the first one is the member.
    var at = opening.count
    while at + name < end - 1 {
      if line[at] == eventName[0], line[at..<at + name].elementsEqual(eventName) { return at + name..<end - 1 }
      at += 1
    }
    return nil
  }

  /// What follows `received_at` in a relay's lines, up to the app.
  static func head(relay: String) -> [UInt8] {
    var head = Array(#"","relay":"#.utf8)
    JSONText.appendString(relay, to: &head)
    return head + #","app":"#.utf8
  }

  /// The app in a record's line; nil when the line is another relay's.
  static func app(in line: UnsafeRawBufferPointer, head: [UInt8]) -> Slice<UnsafeRawBufferPointer>? {
    let rest = line[opening.count...].drop { $0 != UInt8(ascii: "\"") }
    guard rest.starts(with: head) else { return nil }
    // (Nothing in an app's name is escaped.)
    return rest.dropFirst(head.count + 1).prefix { $0 != UInt8(ascii: "\"") }
  }

  /// What every line begins with.
  static let opening = Array(#"{"received_at":""#.utf8)
  private static let eventName = Array(#","event":"#.utf8)

  private func makeHead(_ event: StoredEvent, _ app: String) {
    headReceivedAt = event.receivedAt
    headKind = event.kind
    headDialect = event.dialect
    headApp = app
    occurredAtUsed.removeAll(keepingCapacity: true)
    occurredAtUsed += #","occurred_at_used":""#.utf8
    event.receivedAt.write(to: &occurredAtUsed)
    occurredAtUsed.append(UInt8(ascii: "\""))
    head.removeAll(keepingCapacity: true)
    head += Self.opening
    event.receivedAt.write(to: &head)
    head += Self.head(relay: relay)
    JSONText.appendString(app, to: &head)
    head += #","kind":""#.utf8
    head += event.kind.name.utf8
    head += #"","protocol":""#.utf8
    head += DialectRegistry.name(of: event.dialect).utf8
    head += #"","seq":"#.utf8
  }
}

// Room has been made before any of these is called.
extension RecordLines {
  private func reserve(_ count: Int) {
    guard used + count > buffer.count else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(used + count, buffer.count * 2), alignment: 16)
    grown.copyMemory(from: bytes)
    buffer.deallocate()
    buffer = grown
  }

  private static func put(_ bytes: [UInt8], at end: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    bytes.withUnsafeBytes { bytes in
      if let source = bytes.baseAddress { memcpy(end, source, bytes.count) }
    }
    return end + bytes.count
  }

  private static func put(_ number: UInt64, at end: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    var digits = 1
    var rest = number
    while rest >= 10 {
      rest /= 10
      digits += 1
    }
    rest = number
    for at in stride(from: digits - 1, through: 0, by: -1) {
      end.storeBytes(of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: at, as: UInt8.self)
      rest /= 10
    }
    return end + digits
  }

  /// JSON has no line break inside a string, so that each one here stands between tokens.
  private static func putOnOneLine(
    _ bytes: UnsafeRawBufferPointer, at end: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    for (at, byte) in bytes.enumerated() {
      end.storeBytes(of: byte == 0x0A || byte == 0x0D ? UInt8(ascii: " ") : byte, toByteOffset: at, as: UInt8.self)
    }
    return end + bytes.count
  }
}
