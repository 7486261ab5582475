import Clocks
import EventLog
import EventsAPI

/// `POST /v1/events` and `POST /v1/identify`, with the key in `X-Write-Key`.
struct IncomingAppStoreOperator: IncomingDialect {
  static let events = IncomingRoute(path: APIRoute.events.path, bodyBytesMax: EventsLimits.bodyBytesMax)
  static let identify = IncomingRoute(path: APIRoute.identify.path, bodyBytesMax: EventsLimits.bodyBytesMax)

  var routes: [IncomingRoute] { [Self.events, Self.identify] }
  var rejectionCodes: [String] { RejectionCode.allCases.map(\.rawValue) }
  var idNames: [String] { ["event_id"] }
  var judgesEventsApart: Bool { true }
  var batchRoute: IncomingRoute { Self.events }

  var serving: ServingHabits {
    var serving = ServingHabits()
    serving.namesMax = EventsLimits.eventNamesMax
    serving.namesCode = RejectionCode.tooManyEventNames.rawValue
    serving.hasQuota = true
    return serving
  }

  func frame(of event: UnsafeRawBufferPointer) -> EventFrame {
    EventFrame(route: Self.events, prefix: #"{"events":["#, suffix: "]}")
  }

  func keyClaim(of request: any IncomingRequest, _ route: IncomingRoute) -> KeyClaim {
    .head(request.header("X-Write-Key"))
  }

  func keyPlace(_ route: IncomingRoute) -> String { "The X-Write-Key header" }

  func makeReader() -> any IncomingReader { Reader() }

  func answer(_ error: APIError) -> DialectAnswer { DialectAnswer(status: error.status, body: error.body) }
}

extension IncomingAppStoreOperator {
  /// The API's own reader, behind what all protocols' readers have in common.
  private final class Reader: IncomingReader {
    private let reader = EventsReader()
    private var link: AcceptedEvent?
    private var overruled: [Rejection] = []
    private(set) var kind = EventKind.event
    private(set) var storedBody = UnsafeRawBufferPointer(start: nil, count: 0)

    let bodyKey = BodyKey.missing
    let envelope = UnsafeRawBufferPointer(start: nil, count: 0)
    var accepted: [AcceptedEvent] { link.map { [$0] } ?? reader.accepted }
    var rejectedCodes: [String] {
      reader.rejected.isEmpty && overruled.isEmpty ? [] : (reader.rejected + overruled).map(\.code.rawValue)
    }
    var clampedCount: Int { clamped.count }
    private var clamped: [ClampedEvent] {
      if overruled.isEmpty { return reader.clamped }
      let over = Set(overruled.map(\.index))
      return reader.clamped.filter { !over.contains($0.index) }
    }

    func read(
      _ body: UnsafeRawBufferPointer, of request: any IncomingRequest, _ route: IncomingRoute, receivedAt: Timestamp,
      judgesTime: Bool
    ) -> APIError? {
      storedBody = body
      link = nil
      overruled = []
      guard route.path == IncomingAppStoreOperator.identify.path else {
        kind = .event
        return reader.readBatch(body, receivedAt: receivedAt, judgesTime: judgesTime)
      }
      kind = .identify
      switch reader.readIdentify(body, receivedAt: receivedAt) {
      case .failure(let error): return error
      case .success(let found):
        link = found
        return nil
      }
    }

    func readRecord(_ event: UnsafeRawBufferPointer, kind: EventKind, receivedAt: Timestamp) -> AcceptedEvent? {
      switch kind {
      case .event:
        guard reader.readEvent(event, receivedAt: receivedAt, judgesTime: false) == nil else { return nil }
        return reader.accepted.first
      case .identify:
        guard case .success(let found) = reader.readIdentify(event, receivedAt: receivedAt) else { return nil }
        return found
      }
    }

    func answer() -> DialectAnswer {
      guard kind == .event else { return DialectAnswer(status: 204) }
      var body: [UInt8] = []
      let rejected =
        overruled.isEmpty ? reader.rejected : (reader.rejected + overruled).sorted { $0.index < $1.index }
      BatchAnswer.write(
        accepted: reader.accepted.count - overruled.count, rejected: rejected, clamped: clamped, to: &body)
      return DialectAnswer(status: 200, body: body)
    }

    func overrule(_ positions: [Int], code: String, message: String) {
      guard let code = RejectionCode(rawValue: code) else { preconditionFailure("no such code: \(code)") }
      for position in positions {
        let event = reader.accepted[position]
        overruled.append(Rejection(index: event.index, eventID: event.eventID, code: code, message: message))
      }
    }
  }
}
