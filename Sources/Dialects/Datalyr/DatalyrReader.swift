import Clocks
import EventLog
import EventsAPI

/// Reads the bodies of `POST /track` and `POST /`.
///
/// A request is taken whole or not at all: the protocol has no answer that names single events of a batch.
final class DatalyrReader: IncomingReader {
  /// Of a body that is one event: it is asked for the members of both forms.
  private let single = FieldReader(
    bodyBytesMax: DatalyrLimits.eventBytesMax, elementsMax: 1, body: DatalyrForm.web.names,
    element: DatalyrForm.track.names + " events")
  private let batch = FieldReader(
    bodyBytesMax: DatalyrLimits.batchBytesMax, elementsMax: DatalyrLimits.batchEventsMax,
    body: WebEnvelope.names, element: DatalyrForm.web.names)
  /// The place of `events` behind the single events' own members.
  private static let events = DatalyrForm.Member.allCases.count
  private let around = WebEnvelope.Buffer()

  private(set) var bodyKey = BodyKey.unknown
  private(set) var accepted: [AcceptedEvent] = []
  private(set) var storedBody = UnsafeRawBufferPointer(start: nil, count: 0)
  let kind = EventKind.event
  let rejectedCodes: [String] = []
  let clampedCount = 0
  var envelope: UnsafeRawBufferPointer { around.content }

  func read(
    _ body: UnsafeRawBufferPointer, of request: any IncomingRequest, _ route: IncomingRoute, receivedAt: Timestamp,
    judgesTime: Bool
  ) -> APIError? {
    bodyKey = .unknown
    accepted.removeAll(keepingCapacity: true)
    around.removeAll()
    storedBody = body
    let fault = route.path == IncomingDatalyr.web.path ? readBatch(body) : readTrack(body)
    if fault != nil { accepted.removeAll(keepingCapacity: true) }
    return fault
  }

  func answer() -> DialectAnswer { DialectAnswer(status: 200, body: Self.success) }

  private static let success = Array(#"{"success":true}"#.utf8)

  /// A record doesn't say by which route its event came: it has the form whose rules it keeps.
  func readRecord(_ event: UnsafeRawBufferPointer, kind: EventKind, receivedAt: Timestamp) -> AcceptedEvent? {
    guard kind == .event, case .success(let fields) = single.readOne(event) else { return nil }
    let track = DatalyrEvent(form: .track, element: fields[0], members: fields[0])
    if case .success(let accepted) = DatalyrRules().judge(track) { return accepted }
    let web = DatalyrEvent(form: .web, element: fields[0], members: fields.body)
    guard case .success(var accepted) = DatalyrRules().judge(web) else { return nil }
    accepted.isOtherForm = true
    return accepted
  }

  // MARK: One event

  private func readTrack(_ body: UnsafeRawBufferPointer) -> APIError? {
    let fields: Fields
    switch single.readOne(body) {
    case .failure(let error): return error
    case .success(let found): fields = found
    }
    let event = DatalyrEvent(form: .track, element: fields[0], members: fields[0])
    if event[.name].isAbsent, !fields[0][Self.events].isAbsent {
      return .invalidBody("\"event\" is missing, and \"events\" is there: batches of events go to POST /.")
    }
    switch DatalyrRules().judge(event) {
    case .failure(let error): return error
    case .success(let event): accepted.append(event)
    }
    return nil
  }

  // MARK: A batch

  private func readBatch(_ body: UnsafeRawBufferPointer) -> APIError? {
    let fields: Fields
    switch batch.readBatch(body) {
    case .failure(let error): return isSingle(body) ? Self.isForTrack : error
    case .success(let found): fields = found
    }
    guard fields.count > 0 else { return Self.wrongCount(0) }
    let workspace = WebWorkspace(fields, max: DatalyrLimits.batchEventsMax)
    bodyKey = workspace.key
    if fields.count > DatalyrLimits.batchEventsMax { return Self.wrongCount(fields.count) }
    if let fault = workspace.fault { return fault }
    for index in 0..<fields.count {
      let element = fields[index]
      let rules = DatalyrRules(place: "events[\(index)].")
      switch rules.judge(DatalyrEvent(form: .web, element: element, members: element)) {
      case .failure(let error): return error
      case .success(var event):
        event.index = index
        event.isOtherForm = true
        accepted.append(event)
      }
    }
    around.fill(of: fields, in: body)
    return nil
  }

  /// Whether a body without `events` is an event of the other route's.
  private func isSingle(_ body: UnsafeRawBufferPointer) -> Bool {
    guard body.count <= DatalyrLimits.eventBytesMax, case .success(let fields) = single.readOne(body) else {
      return false
    }
    return !fields[0][DatalyrForm.Member.name.rawValue].isAbsent && fields[0][Self.events].isAbsent
  }

  private static let isForTrack = APIError.invalidBody(
    "\"events\" is missing, and \"event\" is there: single events go to POST /track.")

  private static func wrongCount(_ count: Int) -> APIError {
    .invalidBody("\"events\" must hold 1 to \(DatalyrLimits.batchEventsMax) events, it holds \(count).")
  }
}
