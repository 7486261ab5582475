import Clocks

/// An event as it lies in the log, with its place in the batch it was read into.
public struct StoredEvent: Sendable {
  /// Where the event stands in the lane it was read from: what is acknowledged.
  public var sequence: UInt64
  /// Numbers the instance's events, and stands in their records as `seq`; never repeats. For an event that is sent again it is
  /// the number it first had, else the same as `sequence`.
  public var original: UInt64
  public var index: EventIndex
  public var kind: EventKind
  public var dialect: UInt8
  public var receivedAt: Timestamp
  /// Which of the batch's `apps` the event belongs to.
  public var appIndex: Int
  /// Where the event's first byte stands in the batch's bytes.
  public var offset: Int
  /// Where in the batch's bytes what came around the event in its request stands; nothing for most.
  public var envelope: Range<Int>

  public init(
    sequence: UInt64, index: EventIndex, kind: EventKind, dialect: UInt8, receivedAt: Timestamp, appIndex: Int,
    offset: Int, envelope: Range<Int> = 0..<0, original: UInt64? = nil
  ) {
    self.envelope = envelope
    self.sequence = sequence
    self.original = original ?? sequence
    self.index = index
    self.kind = kind
    self.dialect = dialect
    self.receivedAt = receivedAt
    self.appIndex = appIndex
    self.offset = offset
  }
}

/// Events read from the log, with their bytes: filled anew at each read, so that reading allocates nothing in the long run.
///
/// Not thread-safe; owned by whoever reads.
public final class EventBatch {
  public internal(set) var events: [StoredEvent] = []
  /// The names of the apps the events belong to.
  public internal(set) var apps: [String] = []
  /// The bytes the events' offsets are counted in.
  public internal(set) var bytes: UnsafeMutableRawBufferPointer

  public init(capacity: Int = 128 * 1024) {
    bytes = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { bytes.deallocate() }

  /// The event's bytes, as the sender sent them; good until the batch is filled again.
  public func bytes(of event: StoredEvent) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[event.offset..<event.offset + event.index.length])
  }

  /// What came around the event in its request, for protocols that keep it; as long as its bytes are good.
  public func envelope(of event: StoredEvent) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[event.envelope])
  }

  public func app(of event: StoredEvent) -> String { apps[event.appIndex] }

  /// Leaves only the events that are wanted, in their order; their bytes stay where they are.
  /// - Returns: how many went.
  @discardableResult
  public func keep(where isWanted: (StoredEvent) -> Bool) -> Int {
    let before = events.count
    events.removeAll { !isWanted($0) }
    return before - events.count
  }

  /// Leaves only the first so many events.
  public func keepFirst(_ count: Int) { events.removeLast(events.count - count) }

  public func removeAll() {
    events.removeAll(keepingCapacity: true)
    apps.removeAll(keepingCapacity: true)
    used = 0
  }

  /// Bytes that hold events now.
  public internal(set) var used = 0

  /// Copies an event's bytes, and its envelope, behind those already there. For logs that fill batches.
  public func append(
    _ event: StoredEvent, app: String, bytes source: UnsafeRawBufferPointer,
    envelope: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    var event = event
    event.envelope = 0..<0
    if !envelope.isEmpty {
      let begin = used
      put(envelope)
      event.envelope = begin..<used
    }
    event.offset = used
    put(source)
    if apps.last != app { apps.append(app) }
    event.appIndex = apps.count - 1
    events.append(event)
  }

  private func put(_ source: UnsafeRawBufferPointer) {
    reserve(source.count)
    bytes.baseAddress!.advanced(by: used).copyMemory(from: source.baseAddress!, byteCount: source.count)
    used += source.count
  }

  /// Makes room for so many bytes behind those in use; what is there stays.
  func reserve(_ count: Int) {
    guard used + count > bytes.count else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(used + count, bytes.count * 2), alignment: 16)
    if used > 0 { grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<used])) }
    bytes.deallocate()
    bytes = grown
  }
}
