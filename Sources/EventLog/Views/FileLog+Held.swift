extension FileLog {
  /// Bytes of the log that each destination keeps from being freed: of the segments that hold an event that waits for it,
  /// the first from that event on. 0 for one for which nothing waits.
  public var heldBytes: [String: Int] {
    Dictionary(uniqueKeysWithValues: keeper.all.map { ($0.destination, $0.heldBytes) })
  }
}

extension FileSubscription {
  var heldBytes: Int {
    monitor.withLock {
      drain()
      var first: (sequence: UInt64, lane: LaneState)?
      for lane in lanes.values where lane.pending > 0 {
        guard let sequence = oldest(lane)?.sequence, sequence < first?.sequence ?? .max else { continue }
        first = (sequence, lane)
      }
      guard let first, (try? first.lane.directory.seek(catalog, to: first.sequence)) == true,
        let segment = first.lane.directory.segment
      else { return 0 }
      let offset = (try? first.lane.directory.entry(catalog))?.offset ?? 0
      return catalog.bytes(from: segment, offset: offset) { number in
        yielding.map { $0.held[number] != nil } ?? (owed[number, default: 0] > 0)
      }
    }
  }
}
