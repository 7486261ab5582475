/// The apps of the configuration, arranged for looking up.
struct AppDirectory: Sendable {
  let mode: KeyMode
  let defaultApp: App?
  /// In the configuration's order.
  let names: [String]
  private var byKey = KeyTable<App>()
  private var upstreamKeys: [String: String] = [:]
  private let nameSet: Set<String>

  /// - Throws: ``AppsError`` when the apps contradict each other.
  init(apps: [AppDefinition], mode: KeyMode) throws(AppsError) {
    self.mode = mode
    names = apps.map(\.name)
    nameSet = Set(names)
    var defaultApp: App?
    var seen: Set<String> = []
    for definition in apps {
      guard seen.insert(definition.name).inserted else { throw .repeatedName(definition.name) }
      let app = App(name: definition.name, metricLabel: definition.name)
      for key in definition.keys {
        guard KeyRules.isKey(key) else { throw .malformedKey(app: app.name) }
        if let owner = byKey[key], owner != app { throw .sharedKey(app: owner.name, other: app.name) }
        byKey[key] = app
      }
      upstreamKeys[app.name] = definition.upstreamKey
      if definition.isDefault {
        if let defaultApp { throw .severalDefaults(app: defaultApp.name, other: app.name) }
        defaultApp = app
      }
    }
    self.defaultApp = defaultApp
  }

  func app(listing key: UnsafeRawBufferPointer) -> App? { byKey[key] }

  func has(_ name: String) -> Bool { nameSet.contains(name) }

  func upstreamKey(of name: String) -> String? { upstreamKeys[name] }
}
