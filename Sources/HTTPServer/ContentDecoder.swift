import CZlib

/// Takes gzip and deflate off a body, piece by piece, straight into the body's buffer.
///
/// Used by one thread. It is kept for later bodies, since zlib's state is some 40 KiB.
final class ContentDecoder {
  enum Format: Sendable { case gzip, deflate }

  enum Outcome: Sendable, Equatable {
    /// All of the piece is decoded.
    case ok
    /// The decoded body is over the limit, or the encoded one is larger than any that decodes to less.
    case tooLarge
    case undecodable
    case outOfMemory
  }

  private enum State { case start, inflating, ended }

  private let stream: UnsafeMutablePointer<z_stream>
  private var isReady = false
  private var format = Format.gzip
  private var state = State.start
  /// The first byte of a deflate body, while the second, which tells zlib's wrapping from none, isn't there.
  private var first: UInt8?
  private var encodedBytes = 0

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
  }

  deinit {
    if isReady { inflateEnd(stream) }
    stream.deallocate()
  }

  func begin(_ format: Format) {
    self.format = format
    state = .start
    first = nil
    encodedBytes = 0
  }

  /// Whether the body ended where its encoding does.
  var isComplete: Bool { state == .ended }

  func decode(_ input: UnsafeRawBufferPointer, into body: BodyBuffer, limit: Int) -> Outcome {
    encodedBytes += input.count
    // Encoding never makes a body twice as large, unless it says nothing with many bytes.
    guard encodedBytes <= 2 * limit + 65536 else { return .tooLarge }
    guard state == .start else { return inflate(input, into: body, limit: limit) }
    if format == .gzip {
      guard open(windowBits: 15 + 16) else { return .outOfMemory }
      return inflate(input, into: body, limit: limit)
    }
    guard let next = input.first else { return .ok }
    if let first {
      guard open(windowBits: Self.isZlibHeader(first, next) ? 15 : -15) else { return .outOfMemory }
      self.first = nil
      let outcome = withUnsafeBytes(of: first) { inflate($0, into: body, limit: limit) }
      return outcome == .ok ? inflate(input, into: body, limit: limit) : outcome
    }
    guard input.count > 1 else {
      first = next
      return .ok
    }
    guard open(windowBits: Self.isZlibHeader(next, input[1]) ? 15 : -15) else { return .outOfMemory }
    return inflate(input, into: body, limit: limit)
  }

  /// "deflate" is zlib's format by the standard, and bare deflate by the habit of some senders.
  private static func isZlibHeader(_ one: UInt8, _ two: UInt8) -> Bool {
    one & 0x0F == 8 && (Int(one) << 8 | Int(two)) % 31 == 0
  }

  private func open(windowBits: Int32) -> Bool {
    let status = isReady ? inflateReset2(stream, windowBits) : zlib_inflate_init(stream, windowBits)
    guard status == Z_OK else { return false }
    isReady = true
    state = .inflating
    return true
  }

  private func inflate(_ input: UnsafeRawBufferPointer, into body: BodyBuffer, limit: Int) -> Outcome {
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(input.count)
    while true {
      if state == .ended {
        if stream.pointee.avail_in == 0 { return .ok }
        // A gzip body may have several members; anything else behind the end is garbage.
        guard format == .gzip, stream.pointee.next_in.pointee == 0x1F, inflateReset(stream) == Z_OK else {
          return .undecodable
        }
        state = .inflating
      }
      if body.free.isEmpty, !body.reserve(body.count + 1, limit: limit + 1) { return .outOfMemory }
      let room = body.free
      stream.pointee.next_out = room.baseAddress!.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(room.count)
      let status = CZlib.inflate(stream, Z_NO_FLUSH)
      body.advance(room.count - Int(stream.pointee.avail_out))
      if body.count > limit { return .tooLarge }
      switch status {
      case Z_STREAM_END: state = .ended
      case Z_OK, Z_BUF_ERROR: if stream.pointee.avail_out > 0 { return .ok }
      case Z_MEM_ERROR: return .outOfMemory
      default: return .undecodable
      }
    }
  }
}
