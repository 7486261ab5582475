import Configuration
import Observability

/// The minute of `upstream.rate_limit`: an upstream's is 60 s, a stand-in's may be shorter (`upstream --minute`), so that
/// its limits can be tried in less time.
enum ShortMinute {
  static let variable = "EVENT_RELAY_MINUTE"
  static let range: ClosedRange<Duration> = .milliseconds(100) ... .seconds(60)

  /// As the environment says: 60 s unless it says otherwise, which is logged, since more would go to a real upstream
  /// than it allows.
  static func window(_ environment: [String: String], _ logger: Logger) throws(RelayError) -> Duration {
    guard let text = environment[variable], !text.isEmpty else { return range.upperBound }
    guard let minute = DurationText.duration(text), range.contains(minute) else {
      throw RelayError("\(variable) in the environment must be a duration from 100ms to 60s, such as 2s; or unset it.")
    }
    logger.warning(
      "a minute of upstream.rate_limit is shorter: for stand-ins only",
      ["variable": .text(variable), "minute": .text(text)])
    return minute
  }
}
