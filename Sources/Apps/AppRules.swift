/// What an app's user has ruled about those who send to it.
public final class AppRules: Sendable {
  /// The web origins whose pages may post, as browsers send them: `https://example.com`. `*`: all.
  public let origins: Set<String>
  /// Whose events are not kept; nil: everybody's are.
  public let denied: DenyList?

  public init(origins: Set<String> = [], denied: DenyList? = nil) {
    self.origins = origins
    self.denied = denied
  }

  public func allows(origin: String) -> Bool { origins.contains(origin) || origins.contains("*") }
}
