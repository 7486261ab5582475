/// Where all apps' events go: most apps have the usual upstream, some have one of their own.
public struct Upstreams: Sendable, Equatable {
  /// What is about all lanes, the order of their turns and the adoption of what waits, is this one's.
  public var usual: UpstreamConfiguration
  public var byApp: [String: UpstreamConfiguration]

  public init(usual: UpstreamConfiguration, byApp: [String: UpstreamConfiguration] = [:]) {
    self.usual = usual
    self.byApp = byApp
  }

  /// That of an app.
  subscript(app: String) -> UpstreamConfiguration { byApp[app] ?? usual }

  var all: [UpstreamConfiguration] { [usual] + byApp.values }

  /// No request takes longer than this when all is well, however slow an upstream is.
  var requestTimeMax: Duration { all.lazy.map(\.requestTimeMax).max() ?? .zero }

  var isPaced: Bool { !all.allSatisfy(\.rateLimit.isOff) }
}

extension UpstreamConfiguration {
  /// Nothing takes longer than this when all is well, however slow the upstream is.
  var requestTimeMax: Duration { timeout + connectTimeout }
}
