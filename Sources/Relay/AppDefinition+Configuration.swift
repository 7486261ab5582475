import Apps
import Configuration
import Dialects
import EventsAPI

extension AppDefinition {
  /// - Parameter app: of a configuration that was read with ``ProtocolFormat/all``.
  init(_ app: RelayConfiguration.App) {
    self.init(
      name: app.name, writeKey: app.writeKey?.revealed, acceptKeys: app.acceptKeys.map(\.revealed),
      isDefault: app.isDefault,
      dialect: (DialectRegistry.dialect(named: app.protocolName) ?? DialectRegistry.usual).number,
      rules: AppRules(app))
  }
}

extension AppRules {
  /// Nil when there is nothing to rule.
  fileprivate convenience init?(_ app: RelayConfiguration.App) {
    guard !app.origins.isEmpty || app.deniedIDs != nil else { return nil }
    self.init(
      origins: Set(app.origins),
      denied: app.deniedIDs.map { denied in DenyList(lines: denied.lines) { PersonHash.of($0) } })
  }
}
