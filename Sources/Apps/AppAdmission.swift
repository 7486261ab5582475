/// An app, as its events carry it.
public struct App: Sendable, Equatable {
  public var name: String
  /// What metrics call it: its name, or `other` for an app that a sender's key has made.
  public var metricLabel: String
  /// The protocol that its senders speak: its number.
  public var dialect: UInt8
  /// What its user has ruled about its senders; nil: nothing.
  public var rules: AppRules?

  public init(name: String, metricLabel: String, dialect: UInt8 = 0, rules: AppRules? = nil) {
    self.name = name
    self.metricLabel = metricLabel
    self.dialect = dialect
    self.rules = rules
  }

  public static func == (one: App, other: App) -> Bool {
    one.name == other.name && one.metricLabel == other.metricLabel && one.dialect == other.dialect
  }
}

/// Whose events a request brings.
public enum AppAdmission: Sendable, Equatable {
  case app(App)
  /// There is no key, and no app for requests without one: 401.
  case missingKey
  /// No app lists this key, or it can't be one: 401.
  case unknownKey
  /// An app lists this key, and its senders speak another protocol, with this number: 401.
  case otherProtocol(UInt8)
  /// The key would make another app, and there are ``AppRegistry/ownAppsMax`` of those: 503.
  case tooManyKeys
  /// The key would make an app and can't be stored, so the app's events would lose it in a restart: 503.
  case keyNotStored
}
