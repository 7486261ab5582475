import Clocks
import EventLog
import EventsAPI

/// Takes a body apart into events, and judges them by its protocol's rules.
///
/// One thread at a time may use a reader. What it found is good until the next body is read.
public protocol IncomingReader: AnyObject {
  /// Reads the body of a request.
  ///
  /// - Parameters:
  ///   - body: decoded; readable for 64 bytes past its end, until the request is answered.
  ///   - judgesTime: false while the clock is known to be wrong: then no event is clamped.
  /// - Returns: why the request as a whole is refused; then it brings no events. Nil when it isn't.
  func read(
    _ body: UnsafeRawBufferPointer, of request: any IncomingRequest, _ route: IncomingRoute, receivedAt: Timestamp,
    judgesTime: Bool
  ) -> APIError?

  /// Reads one event by itself, as it stands in a record, where its time isn't judged again; nil when it keeps the rules no
  /// longer.
  func readRecord(_ event: UnsafeRawBufferPointer, kind: EventKind, receivedAt: Timestamp) -> AcceptedEvent?

  /// The key that the request has, where its route's ``KeyClaim`` is `body`: known as soon as the body could be read at all,
  /// whatever else is wrong with it.
  var bodyKey: BodyKey { get }
  /// What the request's events are.
  var kind: EventKind { get }
  /// The events that keep all rules, in the request's order.
  var accepted: [AcceptedEvent] { get }
  /// Of those that don't, the codes, from ``IncomingDialect/rejectionCodes``.
  var rejectedCodes: [String] { get }
  /// How many of the accepted get another time.
  var clampedCount: Int { get }
  /// What the events' offsets are counted in: the body, or what the reader made of it.
  var storedBody: UnsafeRawBufferPointer { get }
  /// What came around the events and is needed to send them on; empty for most.
  var envelope: UnsafeRawBufferPointer { get }
  /// What the sender is told once the events are stored.
  func answer() -> DialectAnswer

  /// Has ``answer()`` reject accepted events after all: for servers that know more of an app than one request tells. Only
  /// where ``ServingHabits`` say that there is such a thing; ``accepted`` stays as it is.
  ///
  /// - Parameters:
  ///   - positions: of the events among the accepted ones, in rising order.
  ///   - code: one of ``IncomingDialect/rejectionCodes``.
  func overrule(_ positions: [Int], code: String, message: String)
}

extension IncomingReader {
  public func overrule(_ positions: [Int], code: String, message: String) {
    precondition(positions.isEmpty, "this protocol's server takes every event that keeps its rules")
  }
}

/// The key of a request that has it in its body, or may have.
public enum BodyKey: Sendable, Equatable {
  /// The body couldn't be read: nobody knows.
  case unknown
  case missing
  case key(String)
  /// One that is refused whoever may know it: why, in a sentence.
  case refused(String)
}
