extension FileSubscription {
  /// Takes the subscription back from who had it, and makes of it what a restart would: what was acknowledged and not
  /// committed is owed again, and every lane is read from its oldest event that is owed.
  ///
  /// To be called when who had it does nothing with it any more. Whoever subscribes next gets it.
  ///
  /// - Parameter record: the destination's record where another file has it; nil: the one on disk.
  /// - Throws: ``LogError`` when a segment's directory can't be read; then nothing has changed.
  func takeBack(_ record: PositionRecord? = nil) throws(LogError) {
    try commitMonitor.withLock { () throws(LogError) in
      try monitor.withLock { () throws(LogError) in
        drain()
        try beginAgain(record ?? committed)
        // Before anybody else can have it, who would find his own gone.
        onProgress {}
        isTaken = false
        yielding = nil
      }
    }
  }

  private func beginAgain(_ record: PositionRecord) throws(LogError) {
    let before = (mode, lanes, ready, owed, settled)
    (mode, lanes, ready, owed, settled) = (record.mode, [:], [], [:], record.settled)
    do throws(LogError) {
      try restoreLanes(record)
    } catch {
      (mode, lanes, ready, owed, settled) = before
      throw error
    }
    balance(known: Int64(bitPattern: accepted))
  }
}

extension FileLog {
  /// Takes a destination's subscription back, with its queue of events that are sent again: it can be subscribed to anew, and
  /// goes on with what is committed, as after a restart.
  ///
  /// - Precondition: who had it does nothing with it any more.
  /// - Throws: ``LogError`` when there is no such destination, or a segment's directory can't be read.
  public func takeBack(_ destination: String) throws(LogError) {
    guard let main = keeper.all.first(where: { $0.destination == destination }) else {
      throw LogError("there is no destination \(destination)")
    }
    if let queue = replays?.open.first(where: { $0.destination == destination }) {
      let record = main.monitor.withLock { main.committed.replays }
      try queue.subscription.takeBack(record.flatMap { PositionRecord($0, destination: ReplayQueue.recordName) })
    }
    try main.takeBack()
  }
}
