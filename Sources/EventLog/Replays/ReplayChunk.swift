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
  /// The share of one that holds what a sender's request brought, with what came around it: such a request isn't cut.
  static let requestBytesMax = 1 << 20

  struct Frame {
    var app: String
    var kind: EventKind
    var dialect: UInt8
    var receivedAt: Timestamp
    /// The events' places in the chunk.
    var events: Range<Int>
    var bytes = 0
    /// What came around the events in their request.
    var envelope: [UInt8] = []

    /// Whether an event may join: one that came with others in a request only joins those.
    func takes(_ event: StoredEvent, _ app: String, _ envelope: UnsafeRawBufferPointer) -> Bool {
      self.app == app && kind == event.kind && dialect == event.dialect && receivedAt == event.receivedAt
        && events.count < ReplayChunk.frameEventsMax
        && bytes < (envelope.isEmpty ? ReplayChunk.frameBytesMax : ReplayChunk.requestBytesMax)
        && self.envelope.elementsEqual(envelope)
    }
  }

  private(set) var frames: [Frame] = []
  private(set) var drafts: [DraftEvent] = []
  private(set) var originals: [UInt64] = []
  private var body: [UInt8] = []
  private var envelopeBytes = 0

  public init() {}

  public var count: Int { drafts.count }
  public var isEmpty: Bool { drafts.isEmpty }
  public var isFull: Bool { drafts.count >= Self.eventsMax || body.count + envelopeBytes >= Self.bytesMax }

  /// Whether an event came in the same request as the last one that was added, and something came around them: the two should
  /// be put in together, even where the chunk is full.
  public func continues(_ event: StoredEvent, app: String, envelope: UnsafeRawBufferPointer) -> Bool {
    !envelope.isEmpty && frames.last?.takes(event, app, envelope) == true
  }

  public func removeAll() {
    frames.removeAll(keepingCapacity: true)
    drafts.removeAll(keepingCapacity: true)
    originals.removeAll(keepingCapacity: true)
    body.removeAll(keepingCapacity: true)
    envelopeBytes = 0
  }

  /// Adds an event.
  ///
  /// - Parameters:
  ///   - event: what is known of it; `original` is the number it keeps.
  ///   - app: whose it is from now on.
  ///   - envelope: what came around it in its request.
  public func add(
    _ event: StoredEvent, app: String, bytes: UnsafeRawBufferPointer,
    envelope: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    if let last = frames.last, last.takes(event, app, envelope) {
      frames[frames.count - 1].events = last.events.lowerBound..<last.events.upperBound + 1
    } else {
      frames.append(
        Frame(
          app: app, kind: event.kind, dialect: event.dialect, receivedAt: event.receivedAt,
          events: drafts.count..<drafts.count + 1, envelope: Array(envelope)))
      envelopeBytes += envelope.count
    }
    frames[frames.count - 1].bytes += bytes.count
    drafts.append(DraftEvent(index: event.index, offset: body.count))
    originals.append(event.original)
    body += bytes
  }

  /// Hands out each frame's draft, its envelope the numbers the events first had and what came around them, until the taker
  /// returns false.
  func forEachDraft(_ take: (borrowing FrameDraft, Frame) -> Bool) {
    var envelope: [UInt8] = []
    for frame in frames {
      envelope.removeAll(keepingCapacity: true)
      envelope.append(contentsOf: repeatElement(0, count: frame.events.count * 8))
      envelope += frame.envelope
      let goesOn = envelope.withUnsafeMutableBytes { envelope in
        for (at, index) in frame.events.enumerated() { envelope.baseAddress!.put(originals[index], at * 8) }
        return body.withUnsafeBytes { body in
          drafts.withUnsafeBufferPointer { drafts in
            take(
              FrameDraft(
                app: frame.app, kind: frame.kind, dialect: frame.dialect, receivedAt: frame.receivedAt, body: body,
                events: UnsafeBufferPointer(rebasing: drafts[frame.events]),
                envelope: UnsafeRawBufferPointer(envelope)),
              frame)
          }
        }
      }
      guard goesOn else { return }
    }
  }
}
