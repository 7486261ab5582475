extension LogView {
  /// One request's events as they lie in a segment.
  public struct Record: Sendable, Equatable {
    /// The segment's file name.
    public var segment: String
    /// Bytes from the file's beginning, and how many they are.
    public var offset, length: Int
    /// Empty where damage left no name.
    public var app: String
    public var sequences: ClosedRange<UInt64>
    /// Its events are lost.
    public var isDamaged: Bool
    /// Its segment is finished.
    public var isSealed: Bool

    public init(
      segment: String, offset: Int, length: Int, app: String, sequences: ClosedRange<UInt64>, isDamaged: Bool = false,
      isSealed: Bool = true
    ) {
      self.segment = segment
      self.offset = offset
      self.length = length
      self.app = app
      self.sequences = sequences
      self.isDamaged = isDamaged
      self.isSealed = isSealed
    }
  }

  /// All records of the log, in the order in which they lie there; the queues of events that are sent again left out.
  ///
  /// - Throws: ``LogError`` when a segment can't be read, or went meanwhile.
  public func records() throws(LogError) -> [Record] {
    var records: [Record] = []
    for segment in catalog.all {
      let (shares, name, isSealed) = catalog.monitor.withLock {
        (
          segment.allShares.filter { $0.app != .all && $0.frames > 0 }, SegmentName.segment(segment.number),
          segment.isSealed
        )
      }
      let before = records.count
      for share in shares {
        var entries: [DirectoryEntry] = []
        for chunk in 0...(share.frames - 1) / SegmentFooter.chunkEntries {
          try catalog.readChunk(chunk, of: share.app, in: segment, into: &entries)
          for entry in entries {
            records.append(
              Record(
                segment: name, offset: entry.offset, length: entry.length, app: catalog.names.name(of: share.app),
                sequences: entry.first(in: segment)...entry.last(in: segment), isDamaged: entry.isDamaged,
                isSealed: isSealed))
          }
        }
      }
      records[before...].sort { $0.offset < $1.offset }
    }
    return records
  }

  /// The number after the newest event that a destination's position on disk names: an event before it that the segments
  /// have no longer is known to be missing.
  public var knownThrough: UInt64 { destinations.map(\.record.through).max() ?? 0 }
}
