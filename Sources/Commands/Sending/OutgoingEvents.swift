import Clocks
import EventsAPI

/// Makes batches of a file's events.
///
/// Unchecked because one thread at a time uses it: the sender asks for the next batch when it has sent the last.
final class OutgoingEvents: @unchecked Sendable {
  struct Unsent: Sendable, Equatable {
    var index: Int
    var why: String
  }

  private enum Source {
    case lines(LineReader)
    case elements(ElementReader)
    case whole([UInt8])
  }

  private let input: InputFile
  private let source: Source
  private let reader = EventsReader()
  private var nextIndex = 0
  /// An event that had no place in the last batch.
  private var kept: (index: Int, bytes: [UInt8])?
  private var isAtEnd = false
  /// Those that can't be sent, since the last time they were taken.
  private var unsent: [Unsent] = []

  private static let envelopeBytes = "{\"events\":[]}".utf8.count

  init(_ operand: String, _ context: CommandContext) throws(CommandFailure) {
    input = try InputFile(operand, standardInput: context.standardInput)
    let head = try input.head(EventsLimits.bodyBytesMax)
    switch InputShape(head: head.bytes) {
    case .lines: source = .lines(LineReader(input))
    case .event where !head.isAll: source = .lines(LineReader(input))
    case .event: source = .whole(Array("{\"events\":[".utf8) + head.bytes + Array("]}".utf8))
    case .array:
      throw CommandFailure("\(input.name) is a list; it should be {\"events\":[...]} or one event a line", code: .usage)
    case .batch where head.isAll && Self.isBody(head.bytes, reader): source = .whole(head.bytes)
    case .batch: source = .elements(ElementReader(input))
    }
  }

  var name: String { input.name }
  var share: Double? { input.share }

  /// A body that a server takes as it is.
  private static func isBody(_ bytes: [UInt8], _ reader: EventsReader) -> Bool {
    let padded = bytes + [UInt8](repeating: 0, count: 64)
    return padded.withUnsafeBytes {
      reader.readBatch(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count]), receivedAt: WallClock.system.now) == nil
    }
  }

  /// The next batch, and what couldn't be sent on the way to it; no batch at the end.
  func next() throws(CommandFailure) -> (batch: OutgoingBatch?, unsent: [Unsent]) {
    defer { unsent = [] }
    if case .whole(let body) = source {
      guard !isAtEnd else { return (nil, []) }
      isAtEnd = true
      return (try wholeBatch(body), unsent)
    }
    var batch = OutgoingBatch(indexes: [], events: [])
    var bytes = Self.envelopeBytes
    while batch.events.count < EventsLimits.batchEventsMax, let event = try nextEvent() {
      let more = event.bytes.count + (batch.events.isEmpty ? 0 : 1)
      guard bytes + more <= EventsLimits.bodyBytesMax else {
        kept = event
        break
      }
      bytes += more
      batch.indexes.append(event.index)
      batch.events.append(event.bytes)
      // A file of nothing but bad lines doesn't pile them up.
      if unsent.count >= 1000 { break }
    }
    return (batch.events.isEmpty && isAtEnd && kept == nil ? nil : batch, unsent)
  }

  private func wholeBatch(_ body: [UInt8]) throws(CommandFailure) -> OutgoingBatch? {
    guard Self.isBody(body, reader) else {
      // Only a single event over several lines can come to this.
      throw CommandFailure("\(input.name) is not JSON, or more than one event on several lines each")
    }
    let count = reader.accepted.count + reader.rejected.count
    nextIndex = count
    return OutgoingBatch(indexes: Array(0..<count), events: [], whole: body)
  }

  private func nextEvent() throws(CommandFailure) -> (index: Int, bytes: [UInt8])? {
    if let kept {
      self.kept = nil
      return kept
    }
    while !isAtEnd {
      guard let read = try readEvent() else {
        isAtEnd = true
        return nil
      }
      let index = nextIndex
      nextIndex += 1
      if let why = whyUnsent(read.bytes) {
        unsent.append(Unsent(index: index, why: "\(read.place) \(why); not sent"))
        // What was read so far is sent before more of a bad file is looked at.
        if unsent.count >= 1000 { return nil }
        continue
      }
      return (index, read.bytes)
    }
    return nil
  }

  private func readEvent() throws(CommandFailure) -> (place: String, bytes: [UInt8])? {
    switch source {
    case .lines(let lines):
      return try lines.next().map { ("line \($0.number)", $0.bytes.map { Array($0) } ?? []) }
    case .elements(let elements):
      return try elements.next().map { ("event \(nextIndex)", $0) }
    case .whole: return nil
    }
  }

  /// Nil when an event can be sent. One bad line would have a server refuse a hundred events.
  private func whyUnsent(_ bytes: [UInt8]) -> String? {
    guard !bytes.isEmpty, bytes.count + Self.envelopeBytes <= EventsLimits.bodyBytesMax else {
      return "is over \(EventsLimits.bodyBytesMax) bytes"
    }
    let padded = bytes + [UInt8](repeating: 0, count: 64)
    let refusal = padded.withUnsafeBytes {
      reader.readEvent(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count]), receivedAt: WallClock.system.now)
    }
    guard let refusal else { return nil }
    let words = refusal.message
    let what = words.hasPrefix("The body ") ? String(words.dropFirst(9)) : words
    return what.hasSuffix(".") ? String(what.dropLast()) : what
  }
}
