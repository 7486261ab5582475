extension FileSubscription {
  /// Damaged events are owed, too: they are handed out as lost.
  func owed(among numbers: [UInt64]) throws(LogError) -> OwedNumbers {
    let sorted = Set(numbers).sorted()
    let lanes = owedLanes()
    let new = try catalog.lookThrough { () throws(LogError) in
      var new: [UInt64] = []
      for lane in lanes {
        var cursor = DirectoryCursor(app: lane.app)
        for number in sorted where !lane.marks.isSettled(number) {
          guard try cursor.seek(catalog, to: number), let segment = cursor.segment,
            let entry = try cursor.entry(catalog)
          else { break }
          if entry.first(in: segment) <= number { new.append(number) }
        }
      }
      return new
    }
    return OwedNumbers(new: new.sorted(), among: numbers)
  }

  /// The numbers in this queue of owed events that first had some numbers: as many as each number stands there.
  func owedAgain(_ originals: [UInt64]) throws(LogError) -> [UInt64] {
    if originals.isEmpty { return [] }
    let wanted = Dictionary(originals.map { ($0, 1) }, uniquingKeysWith: +)
    let lanes = owedLanes()
    return try catalog.lookThrough { () throws(LogError) in
      var wanted = wanted
      var found: [UInt64] = []
      for lane in lanes {
        try forEachOwed(lane.app, lane.marks) { event in
          guard let count = wanted[event.original], count > 0 else { return }
          wanted[event.original] = count - 1
          found.append(event.sequence)
        }
      }
      return found.sorted()
    }
  }

  /// The lanes that are owed something, with what is settled of them.
  private func owedLanes() -> [(app: AppID, marks: LaneMarks)] {
    monitor.withLock {
      drain()
      return lanes.values.filter { $0.pending > 0 }.map { ($0.app, $0.marks) }
    }
  }

  private func forEachOwed(
    _ app: AppID, _ marks: LaneMarks, _ body: (StoredEvent) -> Void
  ) throws(LogError) {
    let reader = LaneReader(app: app)
    let batch = EventBatch()
    var next = marks.low + 1
    while true {
      batch.removeAll()
      let result: LaneReader.Result
      do throws(LogError) {
        result = try reader.read(
          LaneReader.Request(
            from: next, through: .max - 1, limit: ReadLimit(events: 1000, bytes: 1 << 20), settled: marks.above),
          into: batch, from: context)
      } catch {
        throw reader.isSegmentRemoved(catalog) ? .segmentRemoved : error
      }
      for event in batch.events { body(event) }
      if result.isAtEnd || result.next <= next { return }
      next = result.next
    }
  }
}
