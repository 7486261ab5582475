/// Which disk faults are ordered and not used up yet: facts in, what to do to a call out. Pure.
struct FaultOrders: Sendable, Equatable {
  /// What a call to the disk is.
  enum Call: Sendable {
    case read, write, sync
  }

  /// Whose call it is.
  enum Layer: String, Sendable, CaseIterable {
    /// A segment of the log.
    case log
    /// What sinks and dead letters are written through.
    case files
  }

  /// What becomes of a call.
  enum Treatment: Sendable, Equatable {
    case none
    case delay(Duration)
    /// It fails with this error number.
    case fail(Int32)
    /// Half of the bytes are written, then it fails with this error number.
    case shorten(Int32)
  }

  /// No byte more is written.
  var isFull = false
  /// How long each sync takes besides.
  var syncDelay: Duration = .zero
  /// How many of the next calls fail, by layer.
  var failingSyncs: [Layer: Int] = [:]
  var failingReads: [Layer: Int] = [:]
  var shortWrites: [Layer: Int] = [:]

  /// Judges a call, and uses up what is counted.
  ///
  /// - Returns: what to do, and the name of the fault that it is.
  mutating func judge(_ call: Call, _ layer: Layer) -> (treatment: Treatment, fault: TortureFault?) {
    switch call {
    case .read:
      return Self.use(&failingReads, layer) ? (.fail(ErrorNumber.device), .readError) : (.none, nil)
    case .write:
      if isFull { return (.fail(ErrorNumber.noSpace), .diskFull) }
      return Self.use(&shortWrites, layer) ? (.shorten(ErrorNumber.device), .shortWrite) : (.none, nil)
    case .sync:
      if Self.use(&failingSyncs, layer) { return (.fail(ErrorNumber.device), .failedSync) }
      return syncDelay > .zero ? (.delay(syncDelay), .slowSync) : (.none, nil)
    }
  }

  private static func use(_ counts: inout [Layer: Int], _ layer: Layer) -> Bool {
    guard let count = counts[layer], count > 0 else { return false }
    counts[layer] = count - 1
    return true
  }
}
