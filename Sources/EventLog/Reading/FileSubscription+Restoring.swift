import Clocks
import Observability

extension FileSubscription {
  /// Makes the lanes' states from a record and the log.
  func restoreLanes(_ record: PositionRecord) throws(LogError) {
    for app in appsPresent() {
      let name = app == .all ? "" : catalog.names.name(of: app)
      try restore(app, record.marks(of: name))
    }
    // What nobody's lane will ever hand out.
    if mode == .apps, let lost = lanes[.unknown] {
      let count = settle(lost, 0...UInt64.max - 1, assumed: lost.pending)
      settled.add(.lost, UInt64(count))
      lanes[.unknown] = nil
    }
  }

  /// Whose events the log holds.
  private func appsPresent() -> Set<AppID> {
    if mode == .all { return [.all] }
    var apps: Set<AppID> = []
    catalog.monitor.withLock {
      for segment in catalog.segments {
        for share in segment.allShares where share.app != .all && share.frames > 0 { apps.insert(share.app) }
      }
    }
    return apps
  }

  private func restore(_ app: AppID, _ marks: LaneMarks) throws(LogError) {
    guard seen > marks.low + 1 else { return }
    let lane = try laneOwed(app, marks)
    guard lane.pending > 0 else { return }
    lanes[app] = lane
    ready.insert(app)
  }

  /// A lane with what is owed of it by its marks, which is added to what is owed of each segment.
  private func laneOwed(_ app: AppID, _ marks: LaneMarks) throws(LogError) -> LaneState {
    let (lane, found) = try catalog.lookThrough { () throws(LogError) in
      let lane = LaneState(app: app, marks: marks)
      var found: [UInt64: Int] = [:]
      for gap in marks.unsettled(in: marks.low + 1...max(marks.low + 1, seen - 1)) where seen > marks.low + 1 {
        try lane.directory.count(catalog, in: gap) { segment, events in
          guard events > 0 else { return }
          lane.pending += events
          found[segment.number, default: 0] += events
          lane.last = min(seen - 1, max(lane.last, catalog.share(of: app, in: segment)?.last ?? 0))
        }
      }
      return (lane, found)
    }
    owed.merge(found, uniquingKeysWith: +)
    return lane
  }

  /// What `accepted` is counted from: the log's own count less this.
  var acceptedBase: Int64 {
    let total = catalog.monitor.withLock { catalog.acceptedEvents - (catalog.publishedEnd - seen) }
    return Int64(bitPattern: total) - Int64(bitPattern: accepted)
  }

  /// Counts what the destination was ever owed from the log's own count, and makes the books balance with what is there.
  func balance(_ record: PositionRecord) {
    let total = catalog.monitor.withLock { catalog.acceptedEvents }
    let oldestOwed = (record.lanes.values.map(\.low).min() ?? max(record.through, 1) - 1) + 1
    balance(known: Int64(bitPattern: total) - record.acceptedBase, missingFrom: oldestOwed)
  }

  /// Makes the books balance with what is there, for so many events that the destination was ever owed.
  ///
  /// - Parameter first: the number of the oldest event that was owed: what the log has no segment for from there on is named.
  func balance(known: Int64, missingFrom first: UInt64? = nil) {
    let found = settled.total + UInt64(waiting)
    accepted = found
    guard known != Int64(bitPattern: found) else { return }
    if known > Int64(bitPattern: found) {
      let missing = UInt64(known) - found
      settled.add(.lost, missing)
      missingAtOpening = missing
      accepted += missing
      logger.error(
        "events that this destination was owed are no longer in the log: counted as lost", about: destination,
        ["events": .integer(Int(missing)), "numbers": .text(first.map { holes(from: $0) } ?? "")])
    } else {
      logger.warning(
        "the destination's record counts more events than the log has taken in: was a backup put back?",
        about: destination, ["events": .integer(Int(Int64(bitPattern: found) - known))])
    }
  }

  /// The numbers from `first` to the newest one seen that no segment of the log has: `3-8, 11-14`.
  private func holes(from first: UInt64) -> String {
    catalog.monitor.withLock {
      var next = first
      var holes: [String] = []
      for (start, end) in catalog.segments.map({ ($0.firstSequence, $0.endSequence) }) + [(seen, seen)] where end > next
      {
        if start > next { holes.append("\(next)-\(min(start, seen) - 1)") }
        next = max(next, end)
      }
      return holes.prefix(Self.holesToldMax).joined(separator: ", ") + (holes.count > Self.holesToldMax ? ", …" : "")
    }
  }

  private static let holesToldMax = 8

  // MARK: From lanes by app to one lane and back

  /// Goes over to the one lane of all apps, with the same events owed.
  func mergeLanes() {
    let before = lanes.filter { $0.value.pending > 0 }
    let low = before.values.map(\.marks.low).min() ?? seen - 1
    var merged = LaneState(app: .all, marks: LaneMarks(low: low))
    mode = .all
    lanes = [:]
    ready = []
    owed = [:]
    // What a lane without anything owed had is settled; so is what stands in no gap of its app's.
    let byApp = before.mapValues(\.marks)
    do throws(LogError) {
      // (What is settled stays so, however often it is looked through.)
      try catalog.lookThrough { () throws(LogError) in try markSettled(in: merged, by: byApp) }
      merged = try laneOwed(.all, merged.marks)
    } catch {
      logger.error("a segment's directory can't be read", about: destination, ["why": .text(error.description)])
    }
    lanes[.all] = merged
    if merged.isReady { ready.insert(.all) }
  }

  private func markSettled(in merged: LaneState, by marks: [AppID: LaneMarks]) throws(LogError) {
    let low = merged.marks.low
    guard seen > low + 1, marks.values.contains(where: { $0.low != low || !$0.above.isEmpty }) || hasSettledApps(marks)
    else { return }
    for app in appsOfAllSegments() {
      var cursor = DirectoryCursor(app: app)
      guard try cursor.seek(catalog, to: low + 1) else { continue }
      let marks = marks[app] ?? LaneMarks(low: seen - 1)
      repeat {
        guard let segment = cursor.segment, let entry = try cursor.entry(catalog) else { break }
        // (More may have been synced than this subscription has taken notice of.)
        guard entry.first(in: segment) < seen else { break }
        let range = entry.first(in: segment)...min(entry.last(in: segment), seen - 1)
        if range.upperBound <= marks.low {
          merged.marks.above.insert(range)
        } else {
          if marks.low >= range.lowerBound { merged.marks.above.insert(range.lowerBound...marks.low) }
          for settled in marks.above.ranges where settled.overlaps(range) {
            merged.marks.above.insert(settled.clamped(to: range))
          }
        }
      } while try cursor.advance(catalog)
    }
  }

  private func hasSettledApps(_ marks: [AppID: LaneMarks]) -> Bool {
    appsOfAllSegments().contains { marks[$0] == nil }
  }

  private func appsOfAllSegments() -> Set<AppID> {
    var apps: Set<AppID> = []
    catalog.monitor.withLock {
      for segment in catalog.segments {
        for share in segment.allShares where share.app != .all && share.frames > 0 { apps.insert(share.app) }
      }
    }
    return apps
  }

  /// Goes over to lanes by app, each with the marks of the one lane there was.
  func splitLanes() {
    let marks = lanes[.all]?.marks ?? LaneMarks(low: seen - 1)
    mode = .apps
    lanes = [:]
    ready = []
    owed = [:]
    do throws(LogError) {
      for app in appsPresent() { try restore(app, marks) }
    } catch {
      logger.error("a segment's directory can't be read", about: destination, ["why": .text(error.description)])
    }
    if let lost = lanes[.unknown] {
      settled.add(.lost, UInt64(settle(lost, 0...UInt64.max - 1, assumed: lost.pending)))
      lanes[.unknown] = nil
    }
  }
}
