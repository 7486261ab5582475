import Clocks
import EventsAPI
import JSON

/// When the fuzz targets' requests come in: 2026-10-23T12:05:00Z.
let receivedAt = Timestamp(milliseconds: 1_792_757_100_000)

/// Kept from one body to the next, as a server keeps it.
private nonisolated(unsafe) let reader = EventsReader()
private nonisolated(unsafe) let single = EventsReader()

/// The body of `POST /v1/events`: what is taken of it stands in it byte for byte, every event is in exactly one list, and the
/// verdicts are those of a slow judge that reads a tree of values.
@Sendable func checkEvents(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  try withPadded(bytes) { body throws(BrokenPromise) in
    let refusal = reader.readBatch(body, receivedAt: receivedAt)
    try checkLikeSlowJudge(body, refusal)
    if refusal != nil {
      try promise(reader.accepted.isEmpty && reader.rejected.isEmpty, "a refused body has events")
      return
    }
    try checkPlaces(body)
    for event in reader.accepted { try checkAlone(event, in: body) }
    let (accepted, rejected, clamped) = (reader.accepted, reader.rejected, reader.clamped)
    let fresh = EventsReader()
    try promise(
      fresh.readBatch(body, receivedAt: receivedAt) == nil && fresh.accepted == accepted
        && fresh.rejected == rejected && fresh.clamped.count == clamped.count,
      "a reader that was used before reads otherwise than a new one")
  }
}

private func checkPlaces(_ body: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let indices = (reader.accepted.map(\.index) + reader.rejected.map(\.index)).sorted()
  try promise(indices == Array(0..<indices.count), "an event is in no list or in two: \(indices)")
  try promise((1...100).contains(indices.count), "\(indices.count) events were taken")
  var end = 0
  for event in reader.accepted {
    try promise(event.offset >= end && event.length >= 2, "events lie over each other")
    end = event.offset + event.length
    try promise(end <= body.count, "an event ends behind the body")
    try promise(body[event.offset] == 0x7B && body[end - 1] == 0x7D, "an event's bytes are no object")
    for offset in [event.nameOffset, event.occurredAtOffset, event.anonymousIDOffset]
    where offset <= 0 || offset >= event.length || body[event.offset + offset] != 0x22 {
      throw BrokenPromise(description: "a member isn't where it is said to be")
    }
    let breaks = body[event.offset..<end].contains { $0 == 0x0A || $0 == 0x0D }
    try promise(breaks == event.hasLineBreaks, "line breaks are \(breaks), told \(event.hasLineBreaks)")
  }
  let wanted = reader.accepted.filter(\.isClamped).map(\.index)
  try promise(reader.clamped.map(\.index) == wanted, "the clamped ones are not those that are called so")
}

/// An event by itself is what it was in its batch.
private func checkAlone(_ event: AcceptedEvent, in body: UnsafeRawBufferPointer) throws(BrokenPromise) {
  try withPadded(event.bytes(in: body)) { bytes throws(BrokenPromise) in
    let refusal = single.readEvent(bytes, receivedAt: receivedAt)
    try promise(refusal == nil, "an event that was taken is refused by itself: \(refusal?.message ?? "")")
    var alone = try promised(single.accepted.first, "an event that was taken is rejected by itself")
    alone.offset = event.offset
    alone.index = event.index
    try promise(alone == event, "an event by itself is told otherwise than in its batch")
    let texts = (event.name(in: body), event.anonymousID(in: body), event.userID(in: body) ?? "")
    try promise(!texts.0.isEmpty && !texts.1.isEmpty, "a member that is there has no text")
  }
}

private func checkLikeSlowJudge(_ body: UnsafeRawBufferPointer, _ refusal: APIError?) throws(BrokenPromise) {
  guard !hasLoneSurrogates(body), let value = slowValue(body) else { return }
  let events = value.members.flatMap { _ in value["events"]?.array }
  guard let events, (1...100).contains(events.count) else {
    return try promise(refusal != nil, "a body that holds no batch was taken")
  }
  try promise(refusal == nil, "a batch was refused: \(refusal?.message ?? "")")
  let judge = SlowJudge(receivedAt: receivedAt)
  var verdicts = [RejectionCode?](repeating: nil, count: events.count)
  for rejection in reader.rejected where verdicts.indices.contains(rejection.index) {
    verdicts[rejection.index] = rejection.code
  }
  let clamped = Set(reader.clamped.map(\.index))
  for (index, event) in events.enumerated() {
    let wanted = judge.refusal(event)
    try promise(
      wanted == verdicts[index],
      "event \(index) is \(verdicts[index]?.rawValue ?? "taken"), and slowly judged \(wanted?.rawValue ?? "taken")")
    if wanted == nil {
      try promise(judge.isClamped(event) == clamped.contains(index), "event \(index): clamped or not")
    }
  }
}

/// The body as a tree. Nil where that can't be told: the tree's reader takes 64 levels.
private func slowValue(_ body: UnsafeRawBufferPointer) -> JSONValue? {
  do throws(JSONError) {
    return try JSONValue(parsing: body)
  } catch {
    // (What is no JSON holds no batch: an array stands for it.)
    return error.description.contains("nested too deeply") ? nil : .array([])
  }
}

/// Whether an escape of half a pair may be in it: the tree has one character for all of them.
func hasLoneSurrogates(_ body: UnsafeRawBufferPointer) -> Bool {
  guard body.count > 3 else { return false }
  for at in 0..<body.count - 3
  where body[at] == 0x5C && body[at + 1] == 0x75 && body[at + 2] | 0x20 == 0x64 && body[at + 3] > 0x37 {
    return true
  }
  return false
}

/// The body of `POST /v1/identify`.
@Sendable func checkIdentify(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  try withPadded(bytes) { body throws(BrokenPromise) in
    let result = reader.readIdentify(body, receivedAt: receivedAt)
    if case .success(let link) = result {
      try promise(link.offset >= 0 && link.offset + link.length <= body.count, "the call's bytes are not in the body")
      try promise(body[link.offset] == 0x7B && body[link.offset + link.length - 1] == 0x7D, "the call is no object")
      try promise(link.hasUser && link.userHash != 0 && link.installHash != 0, "a link without its ends")
    }
    guard !hasLoneSurrogates(body), let value = slowValue(body) else { return }
    let isLink = SlowJudge.isID(value["anonymous_id"]) && SlowJudge.isID(value["user_id"])
    let isTaken = if case .success = result { true } else { false }
    try promise(isLink == isTaken, "a link is \(isTaken ? "taken" : "refused"), and slowly judged otherwise")
  }
}
