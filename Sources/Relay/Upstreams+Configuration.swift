import Configuration
import Delivery
import Dialects
import HTTPClient

extension Upstreams {
  /// - Parameters:
  ///   - standInURL: where the stand-in upstream is when it takes the place of all the configured ones: it speaks every
  ///     protocol.
  ///   - minute: how long the rate limit's minute is.
  init(
    _ configuration: RelayConfiguration, standInURL: String? = nil, adopts: Bool = false,
    minute: Duration = .seconds(60)
  ) {
    let usual = UpstreamConfiguration(
      configuration.upstream, DialectRegistry.usual, standInURL: standInURL, adopts: adopts, minute: minute)
    var byApp: [String: UpstreamConfiguration] = [:]
    for app in configuration.apps {
      guard let dialect = DialectRegistry.dialect(named: app.protocolName) else { continue }
      if let own = app.upstream {
        byApp[app.name] = UpstreamConfiguration(
          own, dialect, standInURL: standInURL, adopts: adopts, minute: minute)
      } else if dialect.number != DialectRegistry.usual.number {
        byApp[app.name] = UpstreamConfiguration(defaultsOf: dialect, url: standInURL, minute: minute)
      }
    }
    self.init(usual: usual, byApp: byApp)
  }
}

extension UpstreamConfiguration {
  fileprivate init(
    _ upstream: RelayConfiguration.Upstream, _ dialect: any Dialect, standInURL: String?, adopts: Bool,
    minute: Duration
  ) {
    self.init(
      url: standInURL ?? upstream.url, dialect: dialect, linger: upstream.linger,
      maxBatchEvents: upstream.maxBatchEvents, maxBatchBytes: upstream.maxBatchBytes, timeout: upstream.timeout,
      connectTimeout: upstream.connectTimeout, caFile: upstream.caFile.map { PEMSource($0.bytes) },
      retry: Retry(
        initial: upstream.retry.initial, max: upstream.retry.max, jitter: upstream.retry.jitter,
        maxAttempts: upstream.retry.maxAttempts),
      rateLimit: RateLimit(
        events: upstream.rateLimit.eventsPerMinute, eventsPerInstall: upstream.rateLimit.perInstallPerMinute,
        margin: upstream.rateLimit.margin, window: minute),
      concurrency: upstream.concurrency, onRefusedKey: upstream.onRefusedKey == .hold ? .hold : .deadLetter,
      onExpired: upstream.onExpired == .send ? .send : .deadLetter,
      order: upstream.order == .arrival ? .arrival : .oldestFirst, adoptsWaitingEvents: adopts)
  }
}
