import Clocks

/// The directory of a segment that has none on disk yet: where each app's frames lie, 20 bytes a frame.
struct MemoryDirectory {
  struct List {
    var share: SegmentShare
    var entries: [DirectoryEntry] = []
  }

  /// All frames in their order, then those of each app. With one app alone its list is the first one.
  private(set) var all = List(share: SegmentShare(app: .all))
  private(set) var apps: [List] = []
  private var index: [AppID: Int] = [:]
  private var isSplit: Bool { apps.count > 1 }

  mutating func add(
    _ entry: DirectoryEntry, app: AppID, first: UInt64, receivedAt: Timestamp, occurredAt: TimeRange
  ) {
    all.share.add(first: first, count: entry.count, receivedAt: receivedAt, occurredAt: occurredAt)
    let at = listIndex(app)
    apps[at].share.add(first: first, count: entry.count, receivedAt: receivedAt, occurredAt: occurredAt)
    if isSplit { apps[at].entries.append(entry) }
    all.entries.append(entry)
  }

  private mutating func listIndex(_ app: AppID) -> Int {
    if let at = index[app] { return at }
    if apps.count == 1 { apps[0].entries = all.entries }
    apps.append(List(share: SegmentShare(app: app)))
    index[app] = apps.count - 1
    return apps.count - 1
  }

  func share(of app: AppID) -> SegmentShare? {
    if app == .all { return all.share.frames > 0 ? all.share : nil }
    return index[app].map { apps[$0].share }
  }

  func entries(of app: AppID) -> [DirectoryEntry] {
    guard app != .all, isSplit else { return index[app] != nil || app == .all ? all.entries : [] }
    return index[app].map { apps[$0].entries } ?? []
  }

  var frames: Int { all.entries.count }

  /// Bytes of the footer that a directory of so many frames and apps makes, at most.
  static func footerSizeMax(frames: Int, apps: Int) -> Int {
    SegmentFooter.headSize + (apps + 1) * SegmentFooter.rowSize + SegmentFooter.listSize(frames) * 2
      + apps * SegmentFooter.chunkCRCSize + 8 + SegmentFooter.trailerSize
  }
}
