import EventLog

extension Deduplication {
  /// Looks which of a request's events are known, and takes the others in as on their way. What is admitted must be
  /// appended with ``append(_:of:_:to:completion:)``, or its ids stay as they are.
  ///
  /// - Parameters:
  ///   - draft: whose events are the request's.
  ///   - fresh: gets those that are to be appended; what is in it is overwritten.
  public func admit(_ draft: borrowing FrameDraft, fresh: inout [DraftEvent]) -> Admission {
    fresh.removeAll(keepingCapacity: true)
    let app = EventKey.hash(ofApp: draft.app)
    let (events, body) = (draft.events, draft.body)
    let moment = now
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: events.count) { prints in
      // Before the lock is taken: it is the longer half of the work.
      for (at, event) in events.enumerated() {
        let bytes = body[event.offset..<event.offset + event.index.length]
        prints.initializeElement(at: at, to: BodyPrint.of(UnsafeRawBufferPointer(rebasing: bytes)))
      }
      return state.withLock { state in
        state.lastTicket += 1
        var admission = Admission(ticket: state.lastTicket)
        var others: [UInt64] = []
        for (at, event) in events.enumerated() {
          let key = EventKey(app: app, idHigh: event.index.idHigh, idLow: event.index.idLow)
          let sighting = state.window.see(key, body: prints[at], ticket: admission.ticket, at: moment)
          if let ticket = admission.note(sighting, of: event, &fresh), !others.contains(ticket) {
            others.append(ticket)
          }
        }
        guard !others.isEmpty else { return admission }
        let joined = JoinedOutcome()
        for ticket in others {
          joined.add()
          state.waiting[ticket, default: []].append(joined)
        }
        admission.joined = joined
        return admission
      }
    }
  }

  /// Appends what is new of a request, and tells the fate of all of it: stored, what is repeated too, or refused.
  ///
  /// A repeated event that isn't synced yet is waited for; when it is refused, so is this request, whatever became of the
  /// rest: its sender comes again.
  ///
  /// - Parameters:
  ///   - fresh: as ``admit(_:fresh:)`` left it.
  ///   - completion: called once, as the log's; the number is 0 when nothing was appended.
  public func append(
    _ fresh: [DraftEvent], of draft: borrowing FrameDraft, _ admission: Admission, to log: any DurableLog,
    completion: @escaping @Sendable (AppendOutcome) -> Void
  ) {
    admission.joined?.tell(completion)
    guard !fresh.isEmpty else {
      if let joined = admission.joined { return joined.finishOwn(.stored(first: 0)) }
      return completion(.stored(first: 0))
    }
    fresh.withUnsafeBufferPointer { fresh in
      let rest = FrameDraft(
        app: draft.app, kind: draft.kind, dialect: draft.dialect, receivedAt: draft.receivedAt, body: draft.body,
        events: fresh, envelope: draft.envelope)
      log.append(rest) { [self] outcome in
        settle(outcome, admission)
        if let joined = admission.joined { joined.finishOwn(outcome) } else { completion(outcome) }
      }
    }
  }

  /// Notes what became of a request's events, and tells those who wait for them.
  private func settle(_ outcome: AppendOutcome, _ admission: Admission) {
    var refusal: AppendRefusal?
    let (places, ticket) = (admission.places, admission.ticket)
    if case .refused(let why) = outcome { refusal = why }
    let waiting = state.withLock { state in
      switch outcome {
      case .stored(let first): state.window.stored(places: places, ticket: ticket, first: first)
      case .refused: state.window.refused(places: places, ticket: ticket)
      }
      return state.waiting.removeValue(forKey: ticket) ?? []
    }
    for joined in waiting { joined.finishOther(refusal) }
  }
}

extension Deduplication {
  /// What ``admit(_:fresh:)`` found.
  public struct Admission: Sendable {
    public internal(set) var repeats = Repeats()
    var ticket: UInt64
    /// Where the fresh events are remembered.
    var places: Range<UInt64> = 0..<0
    /// What waits for others' events; nil when nothing does.
    var joined: JoinedOutcome?

    init(ticket: UInt64) { self.ticket = ticket }

    /// Takes a sighting in; returns the ticket of another request that is to be waited for.
    mutating func note(
      _ sighting: DuplicateWindow.Sighting, of event: DraftEvent, _ fresh: inout [DraftEvent]
    ) -> UInt64? {
      var awaited: UInt64?
      let isConflict: Bool
      switch sighting {
      case .new(let place):
        places = (fresh.isEmpty ? place : places.lowerBound)..<place + 1
        fresh.append(event)
        return nil
      case .duplicate(let isOther): isConflict = isOther
      case .pending(let other, let isOther):
        isConflict = isOther
        if other != ticket { awaited = other }
      }
      repeats.events += 1
      if isConflict { repeats.conflicts += 1 }
      if event.index.flags.contains(.clamped) { repeats.clamped += 1 }
      return awaited
    }
  }
}
