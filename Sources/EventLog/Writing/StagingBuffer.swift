/// Frames on their way to the disk, as they will lie there.
///
/// `@unchecked`: guarded by the writer's monitor; only the bytes of a reserved frame are filled outside it, by the one
/// thread that reserved them.
final class StagingBuffer: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer
  private(set) var used = 0
  /// Where in the segment the first byte goes.
  private(set) var offset = 0
  /// The life of the segment the frames are made for.
  private(set) var life: UInt64 = 0
  private(set) var notes: [FrameNote] = []
  /// Frames reserved and not filled yet.
  var copying = 0
  /// When the first frame came.
  private(set) var since: ContinuousClock.Instant?

  init(capacity: Int) { bytes = .allocate(byteCount: sectorAligned(capacity), alignment: 4096) }

  deinit { bytes.deallocate() }

  var isEmpty: Bool { used == 0 }
  /// Whole sectors of the segment.
  var range: Range<Int> { offset..<offset + sectorAligned(used) }

  /// The bytes to write, zeros up to the sector's end included.
  func finish() -> UnsafeRawBufferPointer {
    let end = sectorAligned(used)
    if end > used { (bytes.baseAddress! + used).initializeMemory(as: UInt8.self, repeating: 0, count: end - used) }
    return UnsafeRawBufferPointer(rebasing: bytes[..<end])
  }

  func hasRoom(for length: Int) -> Bool { used + length <= bytes.count }

  /// Takes room for a frame; the caller fills it and counts `copying` down.
  func reserve(_ note: FrameNote, life: UInt64) -> UnsafeMutableRawPointer {
    if used == 0 {
      offset = note.offset
      self.life = life
      since = .now
    }
    let start = bytes.baseAddress! + used
    used += note.length
    copying += 1
    notes.append(note)
    return start
  }

  func reset() {
    used = 0
    since = nil
    notes.removeAll(keepingCapacity: true)
  }
}
