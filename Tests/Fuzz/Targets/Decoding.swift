import CZlib

@testable import HTTPServer

/// A body's gzip or deflate taken off piece by piece: whatever the pieces are, what comes out is the same, and never more than
/// the limit.
@Sendable func checkDecoding(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let choice = input.byte()
  let format: ContentDecoder.Format = choice & 1 == 0 ? .gzip : .deflate
  let limit = choice & 2 == 0 ? 1 << 20 : 1000
  let pieces = [1, 2, 7, 64, 1000][Int(choice >> 2) % 5]
  let whole = decoded(input.rest, format, limit: limit, pieces: max(1, input.rest.count))
  let cut = decoded(input.rest, format, limit: limit, pieces: pieces)
  try promise(whole.outcome == cut.outcome, "the pieces change the outcome: \(whole.outcome), \(cut.outcome)")
  try promise(whole.isComplete == cut.isComplete, "the pieces change whether it is complete")
  // (What a refused body had up to its fault may be cut anywhere.)
  if whole.outcome == .ok { try promise(whole.body == cut.body, "the pieces change what comes out") }
  for result in [whole, cut] {
    try promise(result.body.count <= limit + 1, "\(result.body.count) bytes of at most \(limit)")
    try promise(result.outcome != .ok || result.body.count <= limit, "too much was taken")
    try promise(result.memory <= 2 * limit + 4096, "\(result.memory) bytes of memory for \(limit)")
  }
  try promise(whole.outcome != .outOfMemory, "there is memory enough")
  try roundTrip(input.rest, format, pieces)
}

private struct Decoded {
  var outcome: ContentDecoder.Outcome
  var body: [UInt8]
  var isComplete: Bool
  var memory: Int
}

/// Kept from one input to the next, as the server keeps it.
private nonisolated(unsafe) let decoder = ContentDecoder()

private func decoded(
  _ bytes: UnsafeRawBufferPointer, _ format: ContentDecoder.Format, limit: Int, pieces: Int
) -> Decoded {
  let budget = MemoryBudget(limit: 1 << 30)
  let body = BodyBuffer(budget: budget)
  decoder.begin(format)
  var outcome = ContentDecoder.Outcome.ok
  var at = 0
  while at < bytes.count, outcome == .ok {
    let end = min(at + pieces, bytes.count)
    outcome = decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[at..<end]), into: body, limit: limit)
    at = end
  }
  body.pad()
  return Decoded(
    outcome: outcome, body: Array(body.content), isComplete: decoder.isComplete, memory: budget.used)
}

/// What zlib packs comes out as it was.
private func roundTrip(
  _ bytes: UnsafeRawBufferPointer, _ format: ContentDecoder.Format, _ pieces: Int
) throws(BrokenPromise) {
  let packed = packed(bytes, format)
  let result = packed.withUnsafeBytes { decoded($0, format, limit: 1 << 20, pieces: pieces) }
  try promise(result.outcome == .ok && result.isComplete, "what was packed isn't taken: \(result.outcome)")
  try promise(result.body.elementsEqual(bytes), "what was packed comes out otherwise")
}

private func packed(_ bytes: UnsafeRawBufferPointer, _ format: ContentDecoder.Format) -> [UInt8] {
  var stream = z_stream()
  zlib_deflate_init(&stream, 1, format == .gzip ? 15 + 16 : 15)
  defer { deflateEnd(&stream) }
  var out = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
  let count = out.withUnsafeMutableBytes { out in
    stream.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.avail_in = UInt32(bytes.count)
    stream.next_out = out.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_out = UInt32(out.count)
    deflate(&stream, Z_FINISH)
    return out.count - Int(stream.avail_out)
  }
  return Array(out[..<count])
}
