import EventLog
import HTTPClient

/// Buffers for requests in flight, used again; nothing that waits holds any.
///
/// Not thread-safe.
struct BufferPool {
  struct Buffers {
    let batch: EventBatch
    let body: RequestBody
  }

  /// How many are kept while not in use.
  static let keptMax = 4
  /// Buffers that grew beyond this many bytes are not kept.
  static let keptBytesMax = 512 * 1024

  private var free: [Buffers] = []
  private(set) var inUse = 0

  mutating func take() -> Buffers {
    inUse += 1
    return free.popLast() ?? Buffers(batch: EventBatch(), body: RequestBody())
  }

  mutating func giveBack(_ buffers: Buffers) {
    inUse -= 1
    buffers.batch.removeAll()
    buffers.body.removeAll()
    let bytes = buffers.batch.bytes.count + buffers.body.bytes.count
    if free.count < Self.keptMax, bytes <= Self.keptBytesMax { free.append(buffers) }
  }

  /// Frees what is not in use.
  mutating func trim() { free.removeAll() }
}
