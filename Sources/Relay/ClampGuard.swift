import Clocks
import Dialects
import EventLog
import EventsAPI
import Observability
import Synchronization

/// Watches how near the oldest waiting event is to the 7 days past which the upstream replaces its time.
final class ClampGuard: Sendable {
  /// How long before the first event would be clamped somebody is told.
  static let warnsBefore: Duration = .seconds(24 * 3600)
  /// Looking costs reading: no more often than this.
  static let period: Duration = .seconds(60)

  private let earliest: Remembered<Timestamp?>
  private let clock: WallClock
  private let logger: Logger
  private let hasWarned = Atomic(false)

  /// - Parameter period: how long a look holds; tests look each time.
  init(_ subscription: any Subscription, clock: WallClock, logger: Logger, period: Duration = ClampGuard.period) {
    self.clock = clock
    self.logger = logger
    earliest = Remembered(nil, for: period) {
      try subscription.earliestPendingDate(ofDialects: Self.isClamped)
    }
  }

  /// Whether the upstream of a protocol replaces times that are too old; of the others' events none is looked at.
  static func isClamped(_ dialect: UInt8) -> Bool {
    DialectRegistry.dialect(dialect)?.outgoing.habits.clampsTime ?? false
  }

  /// When the first of the waiting events is clamped if nothing moves; nil when none waits. As it was last known when what
  /// waits can't be read.
  var beginsAt: Timestamp? { earliest.value.map { $0 + EventsLimits.pastMax } }

  /// Warns once when the time is near, and again only after it was not.
  func check() {
    guard let beginsAt, beginsAt - clock.now < Self.warnsBefore else {
      hasWarned.store(false, ordering: .relaxed)
      return
    }
    guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
    let isPast = beginsAt <= clock.now
    logger.warning(
      isPast
        ? "waiting events are older than 7 days: the upstream replaces their time when it gets them"
        : "waiting events are about to be older than 7 days: then the upstream replaces their time",
      about: "upstream", ["clamping_begins_at": .text(beginsAt.description)])
  }
}
