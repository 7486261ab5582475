@testable import Configuration

/// Protocols as a configuration's reader is told them: three that differ in all that it asks for.
enum TestProtocols {
  static let all = [first, requests, ordered]

  static let first: ProtocolFormat = {
    var format = ProtocolFormat(
      name: "app-store-operator", title: "the App Store Operator Events API", upstream: .init(),
      calls: ["/v1/events", "/v1/identify"], base: { trimmed($0, of: "/v1") })
    format.limitsInstalls = true
    format.replacesTimes = true
    format.keyPrefixes = ["aso_wk_"]
    return format
  }()

  static let requests: ProtocolFormat = {
    var upstream = RelayConfiguration.Upstream()
    upstream.url = "https://ingest.datalyr.com"
    upstream.linger = .zero
    upstream.timeout = .seconds(15)
    upstream.retry = .init(initial: .seconds(1), max: .seconds(30), jitter: 1)
    upstream.rateLimit = .init(eventsPerMinute: 100, perInstallPerMinute: 0, margin: 0)
    var format = ProtocolFormat(
      name: "datalyr", title: "Datalyr", upstream: upstream, calls: ["/track", "/"], base: { trimmed($0, of: "/track") }
    )
    format.limitUnit = .requests
    format.hasBrowserRoute = true
    format.pageKeyName = "workspace_id"
    format.otherCalls = first.calls
    format.keyPrefixes = ["dk_"]
    return format
  }()

  static let ordered: ProtocolFormat = {
    var upstream = RelayConfiguration.Upstream()
    upstream.url = "https://ingest.voidhash.com"
    upstream.linger = .seconds(5)
    upstream.timeout = .seconds(15)
    upstream.retry = .init(initial: .seconds(1), max: .seconds(30), jitter: 0.25)
    upstream.rateLimit = .init(eventsPerMinute: 0, perInstallPerMinute: 0, margin: 0)
    upstream.concurrency = 1
    var format = ProtocolFormat(
      name: "voidhash", title: "Voidhash", upstream: upstream, calls: ["/i/v1/batch", "/i/v1/capture"],
      base: { trimmed($0, of: "/i/v1") })
    format.keyPrefixes = ["vh_pk_", "vh_sk_"]
    return format
  }()

  private static func trimmed(_ url: String, of path: String) -> String {
    var rest = Substring(url)
    while rest.hasSuffix("/") { rest.removeLast() }
    if rest.hasSuffix(path) { rest.removeLast(path.count) }
    while rest.hasSuffix("/") { rest.removeLast() }
    return String(rest)
  }
}
