/// What an upstream allows for one key, and how much of it is used.
public struct RateLimit: Sendable, Equatable {
  /// Events of the key in any window, or requests where the protocol counts those; 0: no limit.
  public var events: Int
  /// Events of one install of the key in any window; 0: no limit.
  public var eventsPerInstall: Int
  /// The share of both that is left unused, 0…0.9.
  public var margin: Double
  /// The upstream's minute. Tests have shorter ones.
  public var window: Duration

  public init(events: Int, eventsPerInstall: Int, margin: Double = 0.05, window: Duration = .seconds(60)) {
    self.events = events
    self.eventsPerInstall = eventsPerInstall
    self.margin = margin
    self.window = window
  }

  /// No pacing.
  public static let off = RateLimit(events: 0, eventsPerInstall: 0, margin: 0)

  var isOff: Bool { events == 0 && eventsPerInstall == 0 }
  /// What is used at most of the key's limit; nil without one.
  var keyMax: Int? { Self.usable(events, margin) }
  /// What is used at most of an install's limit; nil without one.
  var installMax: Int? { Self.usable(eventsPerInstall, margin) }

  private static func usable(_ limit: Int, _ margin: Double) -> Int? {
    limit == 0 ? nil : max(1, Int((Double(limit) * (1 - margin)).rounded(.down)))
  }
}
