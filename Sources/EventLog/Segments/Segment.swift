import Clocks

/// One file of the log.
///
/// `@unchecked`: what can change is only touched under the catalog's lock.
final class Segment: @unchecked Sendable {
  let number: UInt64
  let life: UInt64
  let path: String
  /// The number its first event has or would have.
  let firstSequence: UInt64
  /// The number after the last event of the segment before.
  let previousEnd: UInt64
  /// Events taken in before this segment.
  let acceptedBefore: UInt64
  let createdAt: Timestamp
  let isRewritten: Bool
  let holdsReplays: Bool

  // Guarded by the catalog's lock.

  var isSealed = false
  /// Not in the log any more: what a late reader finds in its file means nothing.
  var isRemoved = false
  /// Where the frames end; what lies beyond is stale or not synced yet.
  var dataEnd = SegmentHeader.size
  var fileSize: Int
  /// The number after its last event.
  var endSequence: UInt64
  /// Of a sealed segment: each app's share, by id; the first is that of all apps.
  var shares: [SegmentShare] = []
  var footerOffset = 0
  /// Of the active segment, and of a sealed one whose footer can't be used.
  var directory: MemoryDirectory?
  /// Frames whose damage has been counted and told.
  var reportedDamage: Set<Int> = []
  /// The file, as long as somebody reads it.
  weak var openFile: (any DiskFile)?

  init(_ header: SegmentHeader, path: String, fileSize: Int) {
    number = header.number
    life = header.life
    self.path = path
    firstSequence = header.firstSequence
    previousEnd = header.previousEnd
    acceptedBefore = header.acceptedBefore
    createdAt = header.createdAt
    isRewritten = header.isRewritten
    holdsReplays = header.holdsReplays
    endSequence = header.firstSequence
    self.fileSize = fileSize
  }

  /// An app's share, or that of all apps.
  func share(of app: AppID) -> SegmentShare? {
    if let directory { return directory.share(of: app) }
    var low = 0
    var high = shares.count
    while low < high {
      let middle = (low + high) / 2
      if shares[middle].app < app { low = middle + 1 } else { high = middle }
    }
    guard low < shares.count, shares[low].app == app, shares[low].frames > 0 else { return nil }
    return shares[low]
  }

  var header: SegmentHeader {
    SegmentHeader(
      life: life, number: number, firstSequence: firstSequence, previousEnd: previousEnd,
      acceptedBefore: acceptedBefore, createdAt: createdAt, isRewritten: isRewritten,
      holdsReplays: holdsReplays)
  }

  var eventCount: UInt64 { endSequence - firstSequence }
  /// Events taken in up to the segment's end.
  var acceptedThrough: UInt64 { acceptedBefore + eventCount }
  var isEmpty: Bool { endSequence == firstSequence }

  /// Every share, in the order of the apps' ids.
  var allShares: [SegmentShare] {
    guard let directory else { return shares }
    return [directory.all.share] + directory.apps.map(\.share)
  }

  /// Takes over what a footer says.
  func seal(footer: SegmentFooter) {
    isSealed = true
    directory = nil
    dataEnd = footer.dataEnd
    endSequence = footer.endSequence
    footerOffset = footer.offset
    shares = footer.rows.map(\.share).sorted { $0.app < $1.app }
  }
}
