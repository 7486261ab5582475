import Clocks

/// Events on their way into a queue of events that are sent again: put there together, in their order.
///
/// Not thread-safe; filled anew for each put.
public final class ReplayChunk {
  /// A chunk with so many events, or bytes of them, takes no more.
  public static let eventsMax = 1000
  public static let bytesMax = 1 << 20
  /// A frame's share of that.
  static let frameEventsMax = 250
  static let frameBytesMax = 256 << 10

  struct Frame {
    var app: String
    var kind: EventKind
    var dialect: UInt8
    var receivedAt: Timestamp
    /// The events' places in the chunk.
    var events: Range<Int>
    var bytes = 0
  }

  private(set) var frames: [Frame] = []
  private(set) var drafts: [DraftEvent] = []
  private(set) var originals: [UInt64] = []
  private var body: [UInt8] = []

  public init() {}

  public var count: Int { drafts.count }
  public var isEmpty: Bool { drafts.isEmpty }
  public var isFull: Bool { drafts.count >= Self.eventsMax || body.count >= Self.bytesMax }

  public func removeAll() {
    frames.removeAll(keepingCapacity: true)
    drafts.removeAll(keepingCapacity: true)
    originals.removeAll(keepingCapacity: true)
    body.removeAll(keepingCapacity: true)
  }

  /// Adds an event.
  ///
  /// - Parameters:
  ///   - event: what is known of it; `original` is the number it keeps.
  ///   - app: whose it is from now on.
  public func add(_ event: StoredEvent, app: String, bytes: UnsafeRawBufferPointer) {
    if let last = frames.last, last.app == app, last.kind == event.kind, last.dialect == event.dialect,
      last.receivedAt == event.receivedAt, last.events.count < Self.frameEventsMax, last.bytes < Self.frameBytesMax
    {
      frames[frames.count - 1].events = last.events.lowerBound..<last.events.upperBound + 1
    } else {
      frames.append(
        Frame(
          app: app, kind: event.kind, dialect: event.dialect, receivedAt: event.receivedAt,
          events: drafts.count..<drafts.count + 1))
    }
    frames[frames.count - 1].bytes += bytes.count
    drafts.append(DraftEvent(index: event.index, offset: body.count))
    originals.append(event.original)
    body += bytes
  }

  /// Hands out each frame's draft, its envelope the numbers the events first had, until the taker returns false.
  func forEachDraft(_ take: (borrowing FrameDraft, Frame) -> Bool) {
    var numbers = [UInt8](repeating: 0, count: Self.frameEventsMax * 8)
    for frame in frames {
      let goesOn = numbers.withUnsafeMutableBytes { numbers in
        for (at, index) in frame.events.enumerated() { numbers.baseAddress!.put(originals[index], at * 8) }
        return body.withUnsafeBytes { body in
          drafts.withUnsafeBufferPointer { drafts in
            take(
              FrameDraft(
                app: frame.app, kind: frame.kind, dialect: frame.dialect, receivedAt: frame.receivedAt, body: body,
                events: UnsafeBufferPointer(rebasing: drafts[frame.events]),
                envelope: UnsafeRawBufferPointer(rebasing: numbers[..<(frame.events.count * 8)])),
              frame)
          }
        }
      }
      guard goesOn else { return }
    }
  }
}
