import Configuration
import DeadLetters
import EventLog
import JSON
import Records

/// What became of one storing of an event at each destination, as far as can be told: facts in, a state out.
struct DestinationStory {
  let view: LogView
  let configuration: RelayConfiguration
  /// Dead letters of each destination that went without being sent.
  let removed: [String: Int]

  /// A closed set.
  enum State: String {
    case delivered, waiting, filtered
    case deadLettered = "dead_lettered"
    /// The destination came after the event.
    case neverOwed = "never_owed"
    /// Done with, and how isn't kept for each event: the detail says what it can be.
    case settled
  }

  struct Story {
    var destination: String
    var state: State
    var detail: String?
    var attempts: Int?
    var letters: [DeadLetterSummary] = []
    var archived: JSONValue?

    var json: JSONValue {
      [
        "name": .string(destination), "state": .string(state.rawValue), "detail": JSONValue(detail),
        "attempts": attempts.map { JSONValue($0) } ?? .null,
        "dead_letters": .array(letters.map(\.json)), "archive": archived ?? .null,
      ]
    }
  }

  func states(of copy: EventCopy) -> [Story] { view.destinations.map { story(of: copy, at: $0) } }

  private func story(of copy: EventCopy, at destination: DestinationView) -> Story {
    let name = destination.name
    var story = Story(destination: name, state: .settled)
    story.letters = copy.letters.filter { $0.destination == name }
    story.archived = copy.archived[name].map { ["file": .string($0.file), "line": JSONValue($0.line)] }
    let again = copy.replays.contains { $0.destination == name && $0.waits }
    let standing = destination.standing(
      app: copy.app, copy.sequence, place: copy.hit?.place ?? (copy.sequence > 0 ? copy.sequence - 1 : nil))
    if again {
      story.state = .waiting
      story.detail = "it was put into the queue to be sent again"
      story.attempts = story.letters.last?.attempts
    } else if standing == .owed {
      story.state = .waiting
      (story.attempts, story.detail) = WaitingDetail.of(copy, destination.attachment)
    } else if let letter = story.letters.last, !letter.isReplayed {
      story.state = .deadLettered
      story.attempts = letter.attempts
      story.detail = Self.text(letter)
    } else if story.archived != nil {
      story.state = .delivered
    } else if standing == .neverOwed {
      story.state = .neverOwed
      story.detail = "the destination came after this event"
    } else {
      settle(&story, copy, destination)
    }
    return story
  }

  private static func text(_ letter: DeadLetterSummary) -> String {
    let answer = [letter.status.map { "HTTP \($0)" }, letter.code].compactMap { $0 }.joined(separator: " ")
    return
      "\(letter.reason)\(answer.isEmpty ? "" : " (\(answer))") at \(letter.at), dead-letters/\(letter.file):\(letter.line)"
  }

  /// Of what is done with, positions tell no more than that; what else is known leaves as few possibilities as it can.
  private func settle(_ story: inout Story, _ copy: EventCopy, _ destination: DestinationView) {
    let wanted = isWanted(copy, destination.name)
    if wanted == false {
      story.state = .filtered
      story.detail = "the sink's only or sample leaves it out, as it is configured now"
      return
    }
    let tally = destination.settled
    var others: [String] = []
    // What is in the log was neither dropped with its segment nor lost.
    if tally[.droppedBehind] > 0 { others.append("dropped for max_behind, as \(tally[.droppedBehind]) events were") }
    // (Settled with the rest of its segment: a copy of that, with what others are owed, may be there still.)
    if tally[.droppedRemoved] > 0 {
      others.append("dropped while the sink was removed, as \(tally[.droppedRemoved]) events were")
    }
    if copy.hit == nil, tally[.droppedLogFull] > 0 {
      others.append("dropped because the log was full, as \(tally[.droppedLogFull]) events were")
    }
    if copy.hit == nil, tally[.lost] > 0 { others.append("lost, as \(tally[.lost]) events were") }
    if wanted == nil, tally[.filtered] > 0 { others.append("filtered, as \(tally[.filtered]) events were") }
    if let count = removed[destination.name], count > 0 {
      others.append("a dead letter that was removed, as \(count) were")
    }
    if others.isEmpty {
      story.state = .delivered
      if story.letters.last?.isReplayed == true { story.detail = "after it was a dead letter and was put back" }
    } else {
      story.detail = "delivered, or " + others.joined(separator: ", or ")
    }
  }

  /// Whether a sink's selection admits the event; nil when its bytes are no longer there to tell.
  private func isWanted(_ copy: EventCopy, _ name: String) -> Bool? {
    guard let sink = configuration.sinks.first(where: { $0.name == name }) else { return true }
    let selection = EventSelection(
      apps: Set(sink.common.apps), names: sink.common.names,
      kinds: Set(sink.common.kinds.map { $0 == .event ? EventKind.event : .identify }), sample: sink.common.sample)
    if selection.isAll { return true }
    guard let hit = copy.hit else { return nil }
    return hit.bytes.withUnsafeBytes { selection.admits(hit.event, app: hit.app, bytes: $0) }
  }
}
