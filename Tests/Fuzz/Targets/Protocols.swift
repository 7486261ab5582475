import Clocks
import Dialects
import EventLog
import EventsAPI
import HTTPClient
import JSON

/// A request's head, as far as the protocols look at it.
private struct Head: IncomingRequest {
  var method = "POST"
  var path: String
  func header(_ name: StaticString) -> String? { nil }
}

private let datalyr = DialectRegistry.dialect(named: "datalyr")
private let voidhash = DialectRegistry.dialect(named: "voidhash")
private nonisolated(unsafe) let datalyrReaders = datalyr.map { ($0.incoming.makeReader(), $0.incoming.makeReader()) }
private nonisolated(unsafe) let voidhashReaders = voidhash.map { ($0.incoming.makeReader(), $0.incoming.makeReader()) }

/// Bodies of `POST /track` and `POST /`.
@Sendable func checkDatalyr(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let dialect = try promised(datalyr, "there is no Datalyr")
  let readers = try promised(datalyrReaders, "there is no Datalyr")
  try checkProtocol(bytes, dialect, readers.0, again: readers.1)
}

/// Bodies of `POST /i/v1/batch` and `POST /i/v1/capture`.
@Sendable func checkVoidhash(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let dialect = try promised(voidhash, "there is no Voidhash")
  let readers = try promised(voidhashReaders, "there is no Voidhash")
  try checkProtocol(bytes, dialect, readers.0, again: readers.1)
}

/// What a protocol takes is in its stored body byte for byte, keeps the rules by itself, and is taken again when it is sent on.
private func checkProtocol(
  _ bytes: UnsafeRawBufferPointer, _ dialect: any Dialect, _ reader: any IncomingReader, again: any IncomingReader
) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let routes = dialect.incoming.routes
  let route = routes[Int(input.byte()) % routes.count]
  try withPadded(input.rest) { body throws(BrokenPromise) in
    let refusal = reader.read(body, of: Head(path: route.path), route, receivedAt: receivedAt, judgesTime: true)
    if refusal != nil { return try promise(reader.accepted.isEmpty, "a refused body has events") }
    try promise((try? JSONValue(parsing: body)) != nil || isDeep(body), "a body that is no JSON was taken")
    let stored = reader.storedBody
    try promise(!reader.accepted.isEmpty, "a body without an event was taken")
    for event in reader.accepted {
      try promise(event.offset >= 0 && event.offset + event.length <= stored.count, "an event ends behind the body")
      let bytes = event.bytes(in: stored)
      try promise(bytes.first == 0x7B && bytes.last == 0x7D, "an event's bytes are no object")
      let breaks = bytes.contains { $0 == 0x0A || $0 == 0x0D }
      try promise(breaks == event.hasLineBreaks, "line breaks are \(breaks), told \(event.hasLineBreaks)")
      try checkRecord(bytes, event, again)
    }
    try checkSentOn(reader, dialect, again)
  }
}

/// As a line of a file has it.
private func checkRecord(
  _ bytes: UnsafeRawBufferPointer, _ event: AcceptedEvent, _ again: any IncomingReader
) throws(BrokenPromise) {
  try withPadded(bytes) { bytes throws(BrokenPromise) in
    var alone = try promised(
      again.readRecord(bytes, kind: .event, receivedAt: receivedAt), "an event that was taken is none by itself")
    // (A web batch's event that has the other form's members as well is told by itself as that one.)
    guard alone.isOtherForm == event.isOtherForm else { return }
    try promise(alone.offset == 0 && alone.length == event.length, "an event by itself is shorter")
    alone.offset = event.offset
    alone.index = event.index
    try promise(alone == event, "an event by itself is told otherwise than in its request")
  }
}

/// Puts the events into the body that goes upstream, as often as it takes, and reads that like a request.
private func checkSentOn(
  _ reader: any IncomingReader, _ dialect: any Dialect, _ again: any IncomingReader
) throws(BrokenPromise) {
  let batch = EventBatch()
  for (at, event) in reader.accepted.enumerated() {
    let stored = StoredEvent(
      sequence: UInt64(at + 1), index: EventIndex(event, judgesTime: true), kind: .event, dialect: dialect.number,
      receivedAt: receivedAt, appIndex: 0, offset: 0)
    batch.append(stored, app: "fuzz", bytes: event.bytes(in: reader.storedBody), envelope: reader.envelope)
  }
  let wanted = batch.events.map { Array(batch.bytes(of: $0)) }
  let request = RequestBody()
  let outgoing = dialect.outgoing
  let target = outgoing.target(of: batch, key: "key")
  let filled = outgoing.fill(request, from: batch, key: "key", now: receivedAt, bytesMax: 1 << 20)
  try promise((1...wanted.count).contains(filled), "\(filled) of \(wanted.count) events go out")
  let route = try promised(
    dialect.incoming.routes.first { $0.path == target.path }, "events go where nobody takes them: \(target.path)")
  try withPadded(request.content) { body throws(BrokenPromise) in
    let refusal = again.read(body, of: Head(path: route.path), route, receivedAt: receivedAt, judgesTime: true)
    try promise(refusal == nil, "what was taken is refused when it is sent on: \(refusal?.message ?? "")")
    let arrived = again.accepted.map { Array($0.bytes(in: again.storedBody)) }
    try promise(arrived == Array(wanted.prefix(filled)), "events are changed on their way upstream")
  }
}

/// Whether a body nests deeper than the reader of small documents goes.
private func isDeep(_ body: UnsafeRawBufferPointer) -> Bool {
  body.count { $0 == 0x5B || $0 == 0x7B } > 64
}
