import EventLog

/// A past event that may be sent again.
struct ReplayCandidate {
  /// What is known of it; `original` is its number.
  var event: StoredEvent
  var app: String
  /// Good until the visitor returns.
  var bytes: UnsafeRawBufferPointer
  /// What came around the event in its request, where that is kept: in the log. Good until the visitor returns.
  var envelope = UnsafeRawBufferPointer(start: nil, count: 0)
  var place: ReplayPlace
  /// Of a dead letter: what it had been given up for.
  var reason: Outcome?
}

/// Where past events come from: those that are meant, in an order that is the same each time.
protocol ReplaySource {
  /// Visits the events behind a place until the visitor returns false. Blocks on the disk.
  ///
  /// - Parameters:
  ///   - place: nil: from the beginning.
  ///   - goesOn: asked now and then, also where nothing is meant; false ends it.
  /// - Returns: lines that hold no event that can be sent.
  func forEach(
    after place: ReplayPlace?, goesOn: () -> Bool, _ visit: (ReplayCandidate) -> Bool
  ) throws(ReplayError) -> Int
}

/// What is still in the log, without what the destination was owed when the replay was begun.
struct LogSource: ReplaySource {
  let log: FileLog
  let record: ReplayRecord

  func forEach(
    after place: ReplayPlace?, goesOn: () -> Bool, _ visit: (ReplayCandidate) -> Bool
  ) throws(ReplayError) -> Int {
    let selection = record.request.selection
    let scan = log.scan(from: (place?.number ?? 0) + 1, to: record.logEnd)
    let batch = EventBatch()
    do throws(LogError) {
      while goesOn(), try scan.read(ReadLimit(events: 1000, bytes: 256 << 10), into: batch) {
        for event in batch.events {
          let (app, bytes) = (batch.app(of: event), batch.bytes(of: event))
          guard selection.admits(event, app: app, bytes: bytes),
            record.owed?.contains(app: app, event.sequence) != true
          else { continue }
          let place = ReplayPlace(file: "", number: event.sequence)
          let candidate = ReplayCandidate(
            event: event, app: app, bytes: bytes, envelope: batch.envelope(of: event), place: place)
          guard visit(candidate) else { return 0 }
        }
      }
    } catch {
      throw ReplayError(.failed, "the log can't be read: \(error)")
    }
    return 0
  }
}
