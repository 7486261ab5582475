import Configuration
import Dialects

extension ProtocolFormat {
  /// The protocols that apps may speak, as the configuration's reader has to know them.
  public static let all = DialectRegistry.all.map { ProtocolFormat($0) }

  init(_ dialect: any Dialect) {
    let (incoming, outgoing) = (dialect.incoming, dialect.outgoing)
    let habits = outgoing.habits
    self.init(
      name: dialect.name, title: dialect.title, upstream: RelayConfiguration.Upstream(outgoing.defaults),
      calls: incoming.routes.map(\.path), base: outgoing.base)
    limitUnit = habits.limitUnit == .events ? .events : .requests
    limitsInstalls = habits.limitsInstalls
    replacesTimes = habits.clampsTime
    hasBrowserRoute = incoming.routes.contains(where: \.isForBrowsers)
    pageKeyName = incoming.pageKeyName
    keyPrefixes = outgoing.keyPrefixes
    otherCalls = DialectRegistry.all.filter { $0.number != dialect.number }.flatMap { $0.incoming.routes.map(\.path) }
  }
}

extension RelayConfiguration.Upstream {
  /// What holds for a protocol as long as the configuration says nothing else.
  init(_ defaults: OutgoingDefaults) {
    self.init()
    url = defaults.url
    linger = defaults.linger
    maxBatchEvents = defaults.maxBatchEvents
    maxBatchBytes = defaults.maxBatchBytes
    timeout = defaults.timeout
    connectTimeout = defaults.connectTimeout
    retry.initial = defaults.retry.initial
    retry.max = defaults.retry.max
    retry.jitter = defaults.retry.jitter
    rateLimit.eventsPerMinute = defaults.perMinute
    rateLimit.perInstallPerMinute = defaults.perInstallPerMinute
    rateLimit.margin = defaults.margin
    concurrency = defaults.concurrency
  }
}
