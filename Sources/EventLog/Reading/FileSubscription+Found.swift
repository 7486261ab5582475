extension FileSubscription {
  /// Counts events as delivered that the log no longer had at the opening, so that they were counted as lost, and that stand in
  /// the destination's own files after all.
  ///
  /// Twice the same changes nothing: what was found is made durable with the position that knows of it, and until then the books
  /// begin anew with all of it lost.
  func found(_ numbers: Set<UInt64>) {
    monitor.withLock {
      guard mode == .all, missingAtOpening > 0 else { return }
      let marks = committed.marks(of: "")
      let count = min(missingAtOpening, UInt64(numbers.count { $0 < seen && !marks.isSettled($0) }))
      missingAtOpening -= count
      settled.move(count, from: .lost, to: .delivered)
    }
  }
}
